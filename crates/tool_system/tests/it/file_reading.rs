//! Reading one file and many.

use std::io::{Seek as _, SeekFrom, Write as _};

use protocol::{CallReport, ErrorCode, ToolCall, View};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{Caller, Limits, Vocabulary};

use crate::harness::Bench;

const PROJECT: &str = r#"
//- /src/main.rs
fn main() {
    println!("hi");
}
//- /package.json
{"name": "kiln"}
//- /empty
//- /link symlink=src/main.rs
//- /escape symlink=/etc/passwd
"#;

#[tokio::test]
async fn a_file_comes_with_line_numbers_size_and_time() {
    let bench = Bench::new(PROJECT);
    let mut read = bench.ok("read_file", json!({"path": "src/main.rs"})).await;
    let modified = read["modified"].take();
    assert!(modified.as_str().unwrap().ends_with('Z'), "{modified}");
    insta::assert_json_snapshot!(read, @r#"
    {
      "content": "     1\tfn main() {\n     2\t    println!(\"hi\");\n     3\t}",
      "size": 34,
      "modified": null,
      "total_lines": 3
    }
    "#);
}

#[tokio::test]
async fn a_part_of_a_file_says_how_to_go_on() {
    let bench = Bench::new(PROJECT);
    let read = bench.ok("read_file", json!({"path": "src/main.rs", "offset": 2, "limit": 1})).await;
    assert_eq!(read["content"], "     2\t    println!(\"hi\");");
    assert_eq!(read["message"], "Lines 2-2 of 3. Continue with offset=3.");
    let error = bench.err("read_file", json!({"path": "src/main.rs", "offset": 9})).await;
    assert_eq!(error.code, ErrorCode::InvalidRange);
    assert_eq!(error.message, "offset 9 is past the end of src/main.rs, which has 3 lines");
}

#[tokio::test]
async fn reading_stops_at_two_thousand_lines_unless_asked_for_more() {
    let bench = Bench::new("//- /a/\n");
    bench.project.write("long.txt", "line\n".repeat(5000));
    let read = bench.ok("read_file", json!({"path": "long.txt"})).await;
    assert_eq!(read["content"].as_str().unwrap().lines().count(), 2000);
    assert_eq!(read["message"], "Lines 1-2000 of 5000. Continue with offset=2001.");
    let read = bench.ok("read_file", json!({"path": "long.txt", "limit": 4000})).await;
    assert_eq!(read["content"].as_str().unwrap().lines().count(), 4000);
}

#[tokio::test]
async fn base64_gives_the_bytes_whole_or_in_part() {
    let bench = Bench::new("//- /blob base64=AAECAwQF\n");
    let read = bench.ok("read_file", json!({"path": "blob", "encoding": "base64"})).await;
    assert_eq!((&read["content"], &read["size"]), (&json!("AAECAwQF"), &json!(6)));
    let part = json!({"path": "blob", "encoding": "base64", "offset": 2, "limit": 2});
    let read = bench.ok("read_file", part).await;
    assert_eq!(read["content"], "AQI=");
    assert_eq!(read["message"], "Bytes 2-3 of 6. Continue with offset=4.");
}

#[tokio::test]
async fn binary_files_and_images_are_described() {
    let bench = Bench::new("//- /data.bin base64=AAECAwQF\n");
    let read = bench.ok("read_file", json!({"path": "data.bin"})).await;
    assert_eq!(read["content"], "data.bin is a binary file: application/octet-stream, 6 bytes.");
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    png.extend([0, 0, 2, 128, 0, 0, 1, 224, 8, 2, 0, 0, 0]);
    bench.project.write("shot.png", &png);
    let read = bench.ok("read_file", json!({"path": "shot.png"})).await;
    assert_eq!(read["content"], "shot.png is an image: image/png, 640x480 pixels, 29 bytes.");
    assert_eq!(read["media_type"], "image/png");
    assert_eq!(read["message"], "It is not shown: its end is missing.");
}

/// A red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

async fn report(bench: &Bench, name: &str, arguments: Value) -> CallReport {
    let arguments = arguments.as_object().cloned().unwrap();
    let call = ToolCall::new("1", name, arguments);
    bench.executor.report(&call, &CancellationToken::new(), bench.executor.approver()).await
}

#[tokio::test]
async fn an_image_is_shown_beside_its_description() {
    // The name lies.
    let bench = Bench::new(&format!("//- /shot.jpg base64={PIXEL}\n//- /a.svg\n<svg/>\n"));
    let arguments = [
        ("read_file", json!({"path": "shot.jpg"})),
        ("read", json!({"file_paths": ["a.svg", "shot.jpg"]})),
    ];
    for (tool, arguments) in arguments {
        let CallReport { result, images, .. } = report(&bench, tool, arguments).await;
        let [image] = &images[..] else { panic!("{tool}: {images:?} {result:?}") };
        assert_eq!(image.base64(), Some(PIXEL), "{tool}");
        assert_eq!(image.to_string(), "shot.jpg (PNG image, 1x1 pixels, 70 bytes)");
        let value = result.unwrap();
        assert!(value["content"].as_str().unwrap().contains("image/png"), "{value}");
        assert!(!value.to_string().contains(PIXEL), "{value}");
    }
    // Bytes are asked for as such, and text is text.
    for arguments in [json!({"path": "shot.jpg", "encoding": "base64"}), json!({"path": "a.svg"})] {
        let CallReport { result, images, .. } = report(&bench, "read_file", arguments).await;
        assert!(result.is_ok() && images.is_empty());
    }
}

/// Files of this size are not read as a whole before it is known what they are.
#[tokio::test]
async fn a_large_image_is_still_an_image() {
    let mut encoded = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(40, 30).write_to(&mut encoded, image::ImageFormat::Png).unwrap();
    let mut png = encoded.into_inner();
    // What follows the end of an image is not looked at.
    png.resize(9 << 20, 0);
    let bench = Bench::new("//- /a\n\n");
    bench.project.write("large.png", &png);
    let CallReport { result, images, .. } =
        report(&bench, "read_file", json!({"path": "large.png"})).await;
    let value = result.unwrap();
    assert_eq!(images.len(), 1, "{value}");
    assert!(value["content"].as_str().unwrap().contains("image/png"), "{value}");
}

#[tokio::test]
async fn an_image_beyond_the_limits_is_scaled_or_described() {
    let large = image::RgbImage::from_fn(300, 100, |x, y| image::Rgb([x as u8, y as u8, 0]));
    let mut png = std::io::Cursor::new(Vec::new());
    large.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let png = png.into_inner();
    let limits = Limits { image_side: 200, image_scaled_side: 150, ..Limits::default() };
    let tight = Limits { image_pixels: 1_000, ..limits.clone() };
    let bench = Bench::limited("//- /a\n\n", limits);
    bench.project.write("wide.png", &png);
    let CallReport { result, images, .. } =
        report(&bench, "read_file", json!({"path": "wide.png"})).await;
    assert_eq!((images[0].width, images[0].height), (150, 50));
    assert_eq!(result.unwrap()["message"], "It is shown scaled down to 150x50 pixels.");

    let bench = Bench::limited("//- /a\n\n", tight);
    bench.project.write("wide.png", &png);
    let CallReport { result, images, .. } =
        report(&bench, "read_file", json!({"path": "wide.png"})).await;
    assert!(images.is_empty());
    let value = result.unwrap();
    let message = value["message"].as_str().unwrap();
    assert!(
        message.starts_with("It is not shown: its 300x100 pixels are more than 1000. To see it,")
    );
}

#[tokio::test]
async fn an_answer_shows_a_bounded_number_of_images() {
    let tight = [
        Limits { answer_images: 1, ..Limits::default() },
        Limits { answer_image_bytes: 100, ..Limits::default() },
    ];
    for limits in tight {
        let project = format!("//- /a.png base64={PIXEL}\n//- /b.png base64={PIXEL}\n");
        let bench = Bench::limited(&project, limits);
        let arguments = json!({"file_paths": ["a.png", "b.png"]});
        let CallReport { result, images, .. } = report(&bench, "read", arguments).await;
        assert_eq!(images.len(), 1);
        let value = result.unwrap();
        let told = value["content"].as_str().unwrap();
        assert!(told.contains("this answer shows as many images as it may"), "{told}");
    }
}

#[tokio::test]
async fn a_repeated_read_shows_the_image_again() {
    let caller = Caller { detect_repeats: true, ..Default::default() };
    let bench = Bench::with(&format!("//- /shot.png base64={PIXEL}\n"), caller, Vec::new());
    for _ in 0..2 {
        let shown = report(&bench, "read_file", json!({"path": "shot.png"})).await;
        assert_eq!(shown.images.len(), 1);
    }
    let again = report(&bench, "read_file", json!({"path": "shot.png"})).await;
    assert!(again.result.unwrap().get("redundant").is_some());
}

#[tokio::test]
async fn how_a_file_is_stored_is_told_where_it_is_unusual() {
    let bench = Bench::new("//- /plain.txt\na\n");
    let wide: Vec<u8> = "\u{FEFF}caf\u{E9}\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table: &[(&str, &[u8], &str, Option<&str>)] = &[
        ("a", b"one\r\ntwo\r\n", "     1\tone\n     2\ttwo", Some("CRLF line endings")),
        ("b", b"one\r\ntwo\n", "     1\tone\n     2\ttwo", Some("mixed line endings")),
        ("c", b"one\rtwo\r", "     1\tone\n     2\ttwo", Some("CR line endings")),
        ("d", b"one", "     1\tone", Some("no final newline")),
        ("e", b"\xEF\xBB\xBFone\n", "     1\tone", Some("byte order mark")),
        ("f", &wide, "     1\tcaf\u{E9}", Some("UTF-16LE, byte order mark, CRLF line endings")),
        ("g", b"one\n", "     1\tone", None),
    ];
    for (path, bytes, content, stored_as) in table {
        bench.project.write(path, bytes);
        let read = bench.ok("read_file", json!({"path": path})).await;
        assert_eq!(read["content"], *content, "{path}");
        assert_eq!(read.get("stored_as").and_then(|text| text.as_str()), *stored_as, "{path}");
    }
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    let bench = Bench::new(PROJECT);
    let read = bench.ok("read_file", json!({"path": "empty"})).await;
    assert_eq!((&read["content"], &read["message"]), (&json!(""), &json!("The file is empty.")));
}

#[tokio::test]
async fn nothing_outside_the_project_can_be_read() {
    let bench = Bench::new(PROJECT);
    for path in ["/etc/passwd", "../x", "src/../../x", "escape", "a\0b", ""] {
        let error = bench.err("read_file", json!({"path": path})).await;
        assert_eq!(error.code, ErrorCode::InvalidPath, "{path:?}");
    }
    let inside = bench.project.path("src/main.rs").display().to_string();
    for path in ["link", "./src//main.rs", "src/../src/main.rs", inside.as_str()] {
        let read = bench.ok("read_file", json!({"path": path})).await;
        assert_eq!(read["total_lines"], 3, "{path}");
    }
}

#[tokio::test]
async fn a_missing_file_is_answered_with_near_names() {
    let bench = Bench::new(PROJECT);
    let error = bench.err("read_file", json!({"path": "src/mian.rs"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.message, "src/mian.rs does not exist");
    assert_eq!(error.suggestion.unwrap(), "Did you mean main.rs?");
    assert_eq!(bench.err("read_file", json!({"path": "src"})).await.code, ErrorCode::NotAFile);
}

#[tokio::test]
async fn a_huge_file_and_an_endless_line_get_a_bounded_answer() {
    let bench = Bench::new("//- /a/\n");
    let mut sparse = std::fs::File::create(bench.project.path("huge.txt")).unwrap();
    sparse.write_all(b"first\nsecond\n").unwrap();
    // Text up to here, then a hole: only the beginning is ever looked at.
    sparse.write_all(&b"x\n".repeat(20_000)).unwrap();
    sparse.seek(SeekFrom::Start(1 << 30)).unwrap();
    sparse.write_all(b"\nlast\n").unwrap();
    let read = bench.ok("read_file", json!({"path": "huge.txt", "limit": 2})).await;
    assert_eq!(read["content"], "     1\tfirst\n     2\tsecond");
    assert_eq!(
        read["message"],
        "Lines 1-2; the file has 1073741830 bytes. Continue with offset=3."
    );
    bench.project.write("line.txt", "y".repeat(50 << 20));
    let read = bench.ok("read_file", json!({"path": "line.txt"})).await;
    assert!(read["content"].as_str().unwrap().len() < 20_000);
    assert!(read["message"].as_str().unwrap().contains("base64"), "{}", read["message"]);
}

#[tokio::test]
async fn many_files_come_under_headings_with_wide_numbers() {
    let bench = Bench::speaking(Vocabulary::Ally, PROJECT);
    let read =
        bench.ok("read", json!({"file_paths": ["src/main.rs", "package.json"], "limit": 1})).await;
    insta::assert_json_snapshot!(read, @r#"
    {
      "content": "=== src/main.rs ===\n     1\tfn main() {\n[Lines 1-1 of 3. Continue with offset=2.]\n\n=== package.json ===\n     1\t{\"name\": \"kiln\"}",
      "files_read": 2,
      "estimated_tokens": 32
    }
    "#);
    let call = protocol::ToolCall::new("1", "read", serde_json::Map::new());
    let flat = View::Flat.render(&call, &Ok(read));
    assert_eq!((&flat["success"], &flat["error"]), (&json!(true), &json!("")));
}

#[tokio::test]
async fn reading_many_files_stops_before_the_context_would_overflow() {
    let limits = Limits { read_tokens: 60, ..Limits::default() };
    let bench = Bench::limited("//- /a\nshort\n//- /c\nshort\n", limits);
    bench.project.write("b", "a line of some length\n".repeat(100));
    let read = bench.ok("read", json!({"file_paths": ["a", "b", "c"], "limit": 0})).await;
    assert_eq!((&read["files_read"], &read["not_read"]), (&json!(2), &json!(["c"])));
    assert!(read["estimated_tokens"].as_u64().unwrap() <= 60);
    let message = read["message"].as_str().unwrap();
    let next: usize =
        message.split("offset=").nth(1).unwrap().trim_end_matches('.').parse().unwrap();
    let shown = read["content"].as_str().unwrap();
    assert!(
        shown.ends_with(&format!("{:>6}\ta line of some length", next - 1)),
        "{shown}\n{message}"
    );
}

#[tokio::test]
async fn one_bad_path_among_many_spoils_nothing_and_only_bad_ones_are_an_error() {
    let bench = Bench::new(PROJECT);
    let read = bench.ok("read", json!({"file_paths": ["nope.rs", "package.json"]})).await;
    assert_eq!(read["files_read"], 1);
    assert_eq!(read["errors"][0]["code"], "FILE_NOT_FOUND");
    let error = bench.err("read", json!({"file_paths": ["nope.rs", "/etc/passwd"]})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.message.contains("nope.rs") && error.message.contains("/etc/passwd"));
}

#[tokio::test]
async fn the_workspace_vocabulary_gets_the_file_as_it_is() {
    let bench = Bench::speaking(Vocabulary::Workspace, PROJECT);
    bench.project.write("win.txt", "a\r\nb\r\n");
    let read = bench.ok("read_file", json!({"path": "win.txt", "encoding": "utf-8"})).await;
    assert_eq!((&read["content"], &read["size"]), (&json!("a\r\nb\r\n"), &json!(6)));
    assert_eq!((&read["storedAs"], &read["totalLines"]), (&json!("CRLF line endings"), &json!(2)));
}

#[tokio::test]
async fn a_fifo_and_a_socket_never_block_a_call() {
    let bench = Bench::new("//- /a.txt\nneedle\n");
    let pipe = bench.project.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.project.path("socket")).unwrap();
    for name in ["pipe", "socket"] {
        let error = bench.err("read_file", json!({"path": name})).await;
        assert_eq!(error.code, ErrorCode::NotAFile, "{name}");
    }
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found["total"], 1);
}
