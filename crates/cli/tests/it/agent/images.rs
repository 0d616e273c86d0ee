//! Images on their way to models: from the command line, from tools, and for those who cannot see.

use protocol::SessionEvent;
use serde_json::{Value, json};
use testkit::model_server::WireFormat;
use testkit::{Fault, ModelServer, Reply};

use super::bench::{Bench, Model, answer_to};
use super::validity;

/// A pixel, as a PNG in Base64.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const DESCRIBED: &str = "shot.png (PNG image, 1x1 pixels, 70 bytes)";

fn bench() -> Bench {
    Bench::new(&format!("//- /shot.png base64={PIXEL}\n//- /notes.txt\nfirst\n"))
}

/// The model that is asked, so that it is known to see images or not.
fn named(format: WireFormat, sees: bool) -> &'static str {
    match (format, sees) {
        (WireFormat::Anthropic, _) => "claude-sonnet-4-6",
        (_, true) => "gpt-5",
        (_, false) => "o3-mini",
    }
}

#[test]
fn images_of_messages_and_of_results_reach_models_in_every_form() {
    for format in WireFormat::ALL {
        let bench = bench();
        let script = [Reply::call("read_file", json!({"path": "shot.png"})), Reply::text("Red.")];
        let server = ModelServer::start(script);
        let more = ["--model", named(format, true)];
        let ran = bench.ask(Model { format, server: &server }, "What is in @shot.png?", &more);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Red.\n"), "{format:?} {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("attached {DESCRIBED}")), "{}", ran.stderr);
        let requests = server.calls();
        requests.iter().for_each(validity::check);
        assert_eq!(requests[0].images(), [PIXEL], "{format:?}");
        assert_eq!(requests[1].images(), [PIXEL, PIXEL], "{format:?}");
        let told = answer_to(&requests[1], "call_0_0").text;
        assert!(told.contains("1x1 pixels"), "{told}");
        let log = serde_json::to_string(&bench.log("")).unwrap();
        assert_eq!(log.matches(PIXEL).count(), 1, "the bytes are written once");
    }
}

#[test]
fn a_model_that_cannot_see_gets_a_description() {
    for format in [WireFormat::Chat, WireFormat::Responses] {
        let bench = bench();
        let script = [Reply::call("read_file", json!({"path": "shot.png"})), Reply::text("Hm.")];
        let server = ModelServer::start(script);
        let more = ["--model", named(format, false)];
        let ran = bench.ask(Model { format, server: &server }, "What is in @shot.png?", &more);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("o3-mini is not known to see images"), "{}", ran.stderr);
        let requests = server.calls();
        requests.iter().for_each(validity::check);
        assert!(requests.iter().all(|request| request.images().is_empty()));
        let said = requests[0].user_texts().join("\n");
        assert!(said.contains(&format!("[image, not shown: {DESCRIBED}]")), "{said}");
        let told = answer_to(&requests[1], "call_0_0").text;
        assert!(told.contains(&format!("[image, not shown: {DESCRIBED}]")), "{told}");
    }
}

#[test]
fn the_setting_decides_before_the_catalogue() {
    let bench = bench();
    let config = bench.project.root().with_file_name("config");
    std::fs::create_dir_all(config.join("toolkiln")).unwrap();
    for (setting, model, shown) in [("true", "o3-mini", 1), ("false", "gpt-5", 0)] {
        let settings = format!("[model]\nimages = {setting}\n");
        std::fs::write(config.join("toolkiln/config.toml"), settings).unwrap();
        let server = ModelServer::start([Reply::text("Done.")]);
        let model_server = Model { format: WireFormat::Responses, server: &server };
        let mut command = bench.asking(model_server, "see @shot.png");
        command.env("XDG_CONFIG_HOME", &config).args(["--model", model]);
        let ran = crate::run::finish(&mut command);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(server.calls()[0].images().len(), shown, "{setting} {}", ran.stderr);
    }
}

#[test]
fn a_provider_that_refuses_images_does_not_end_the_session() {
    for format in WireFormat::ALL {
        let bench = bench();
        let refusal = Fault::status(400, "This model does not support image input.");
        let server = ModelServer::start([Reply::fault(refusal), Reply::text("I read it.")]);
        let more = ["--model", named(format, true), "--json"];
        let ran = bench.ask(Model { format, server: &server }, "see @shot.png", &more);
        assert_eq!(ran.code, 0, "{format:?} {}", ran.stderr);
        let requests = server.calls();
        requests.iter().for_each(validity::check);
        let shown: Vec<usize> = requests.iter().map(|request| request.images().len()).collect();
        assert_eq!(shown, [1, 0], "{format:?}");
        let log = bench.log("");
        let refused = |event: &SessionEvent| matches!(event, SessionEvent::ImagesRefused { .. });
        assert!(log.iter().any(|entry| refused(&entry.event)));
        // Programs get no bytes of images.
        assert!(!ran.stdout.contains(PIXEL), "{}", ran.stdout);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let image = &lines.iter().find(|line| line["type"] == "user_message").unwrap()["data"]["content"]
            [2];
        assert_eq!((&image["type"], &image["width"]), (&json!("image"), &json!(1)));
        assert!(lines.iter().any(|line| line["type"] == "images_refused"));

        let server = ModelServer::start([Reply::text("Still.")]);
        let more = ["--model", named(format, true), "--resume"];
        let again = bench.ask(Model { format, server: &server }, "And?", &more);
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert!(server.calls()[0].images().is_empty(), "it is remembered");
    }
}

#[test]
fn what_cannot_be_attached_is_said_aloud() {
    let bench = bench();
    bench.project.write("cut.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01");
    let server = ModelServer::start([Reply::text("Done.")]);
    let model = Model { format: WireFormat::Anthropic, server: &server };
    let ran = bench.ask(model, "see @missing.png, @cut.png and me@example.org", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("missing.png is not attached: "), "{}", ran.stderr);
    let described =
        "cut.png is attached as a description only: It is not shown: its end is missing";
    assert!(ran.stderr.contains(described), "{}", ran.stderr);
    assert!(server.calls()[0].images().is_empty());
}

#[test]
fn the_guide_without_a_model_describes_images() {
    let bench = bench();
    let ran = bench.ask_offline("read shot.png", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("image/png, 1x1 pixels"), "{}", ran.stdout);
}
