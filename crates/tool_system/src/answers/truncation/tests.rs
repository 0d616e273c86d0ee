use proptest::prelude::*;

use super::*;

fn store() -> ResultStore {
    ResultStore::new(1 << 20)
}

fn limits(output: u64, line: u64) -> Limits {
    Limits { run_output_bytes: output, read_line_bytes: line, ..Limits::default() }
}

#[test]
fn what_fits_is_left_alone() {
    let value = json!({"content": "short", "size": 5});
    assert_eq!(fit(value.clone(), 1000, &store()), value);
}

#[test]
fn a_long_text_is_cut_with_total_and_handle_and_the_handle_gives_it_back() {
    let store = store();
    let text = "é".repeat(4000);
    let cut = fit(json!({"content": text, "size": 8000}), 2000, &store);
    let note = &cut["truncation"][0];
    assert_eq!((&note["field"], &note["total"]), (&json!("content"), &json!(4000)));
    let shown = cut["content"].as_str().unwrap();
    assert_eq!(shown.chars().count() as u64, note["shown"].as_u64().unwrap());
    assert!(cut.to_string().len() < 2400);
    let handle = note["handle"].as_str().unwrap();
    assert_eq!(*store.get(handle).unwrap(), *text);
}

#[test]
fn a_long_list_loses_its_end_and_is_kept_one_item_a_line() {
    let store = store();
    let items: Vec<Value> = (0..1000).map(|index| json!({"line": index})).collect();
    let cut = fit(json!({"matches": items, "total": 1000}), 3000, &store);
    let note = &cut["truncation"][0];
    assert_eq!((&note["unit"], &note["total"]), (&json!("items"), &json!(1000)));
    let shown = cut["matches"].as_array().unwrap().len();
    assert!(shown > 100 && shown < 1000, "{shown}");
    let kept = store.get(note["handle"].as_str().unwrap()).unwrap();
    assert_eq!(kept.lines().count(), 1000);
}

#[test]
fn output_is_cut_between_lines_and_the_handle_gives_all_of_it() {
    let store = store();
    let lines: Vec<String> = (1..=5000).map(|number| format!("line {number}\n")).collect();
    let printed = json!({"output": lines.concat(), "error": "e\n"});
    let cut = fit_output(printed, OutputForm::Full, &limits(4000, 1000), &store);
    let shown = cut["output"].as_str().unwrap();
    assert!(shown.len() < 4200 && cut["error"] == "e\n");
    let note = &cut["truncation"][0];
    let handle = note["handle"].as_str().unwrap();
    assert_eq!(*store.get(handle).unwrap(), *lines.concat());
    let (head, rest) = shown.split_once("[… ").unwrap();
    let (marker, tail) = rest.split_once(" …]\n").unwrap();
    let first = head.lines().count();
    assert_eq!(head, lines[..first].concat());
    assert_eq!(tail, lines[5000 - tail.lines().count()..].concat());
    let left_out = 5000 - first - tail.lines().count();
    let next = first + 1;
    assert_eq!(
        marker,
        format!("{left_out} lines left out: read_file(path=\"{handle}\", offset={next})")
    );
    assert_eq!((&note["total"], &note["shown"]), (&json!(5000), &json!(5000 - left_out)));
}

#[test]
fn a_line_that_cannot_be_read_whole_is_broken() {
    let store = store();
    let printed = json!({"stdout": "é".repeat(5000)});
    let cut = fit_output(printed, OutputForm::Full, &limits(1000, 100), &store);
    let kept = store.get(cut["truncation"][0]["handle"].as_str().unwrap()).unwrap();
    assert!(kept.lines().all(|line| line.len() <= 100));
    assert_eq!(kept.replace('\n', ""), "é".repeat(5000));
    assert!(cut["stdout"].as_str().unwrap().starts_with(&"é".repeat(50)));
    assert_eq!(broken("a\nbb\n\n".into(), 4), "a\nbb\n\n");
}

#[test]
fn a_brief_cut_shows_a_few_lines_of_either_end() {
    let store = store();
    let lines: Vec<String> = (1..=5000).map(|number| format!("line {number}\n")).collect();
    let printed = json!({"output": lines.concat()});
    let cut = fit_output(printed, OutputForm::Brief, &limits(30 << 10, 1000), &store);
    let handle = cut["truncation"][0]["handle"].as_str().unwrap();
    let marker = format!("[4782 of 5000 lines left out; read_file path=\"{handle}\" offset=66]\n");
    let expected = lines[..65].concat() + &marker + &lines[4847..].concat();
    assert_eq!(cut["output"].as_str().unwrap(), expected);
}

#[test]
fn of_a_line_that_is_too_long_a_brief_cut_shows_two_parts() {
    let printed = json!({"output": "a".repeat(50) + &"b".repeat(50)});
    let cut = fit_output(printed, OutputForm::Brief, &limits(40, 1000), &store());
    let handle = cut["truncation"][0]["handle"].as_str().unwrap();
    assert_eq!(
        cut["output"].as_str().unwrap(),
        format!(
            "{}\n[60 of 100 bytes left out; read_file path=\"{handle}\" offset=1]\n{}",
            "a".repeat(10),
            "b".repeat(30)
        )
    );
}

proptest! {
    #[test]
    fn both_ends_and_what_the_handle_reads_are_the_whole_output(
        lines in prop::collection::vec("[a-zé\u{1b}\t]{0,30}", 1..60),
        limit in 8_u64..200,
        longest in 8_u64..40,
        is_brief: bool,
    ) {
        let output = lines.join("\n");
        let form = if is_brief { OutputForm::Brief } else { OutputForm::Full };
        let store = store();
        let printed = json!({"output": output});
        let cut = fit_output(printed, form, &limits(limit, longest), &store);
        let text = cut["output"].as_str().unwrap();
        let Some(note) = cut["truncation"].get(0) else {
            prop_assert_eq!(text, output);
            return Ok(());
        };
        let handle = note["handle"].as_str().unwrap();
        let whole = store.get(handle).unwrap();
        // Only breaks in lines that are too long were added.
        prop_assert_eq!(whole.replace('\n', ""), output.replace('\n', ""));
        let is_marker = |line: &&str| line.starts_with('[') && line.contains(handle);
        let marker = text.lines().find(is_marker).unwrap();
        let (head, tail) = text.split_once(&format!("{marker}\n")).unwrap();
        if marker.contains("bytes left out") {
            prop_assert!(whole.starts_with(head.trim_end_matches('\n')));
        } else {
            let offset = note["hint"].as_str().unwrap().split(['=', ')']).nth(2).unwrap();
            let first = offset.parse::<usize>().unwrap() - 1;
            let hidden = (note["total"].as_u64().unwrap() - note["shown"].as_u64().unwrap()) as usize;
            let read: String = whole.split_inclusive('\n').skip(first).take(hidden).collect();
            prop_assert_eq!(format!("{head}{read}{tail}"), &*whole);
        }
        prop_assert!(whole.ends_with(tail));
        let is_odd = |c: &char| c.is_control() && *c != '\n';
        let count = |text: &str| text.chars().filter(is_odd).count();
        prop_assert!(count(text) <= count(&output), "no control character is added");
    }
}

#[test]
fn an_error_never_echoes_everything_it_was_given() {
    let given = "x".repeat(1 << 20);
    let error = ToolError::new(protocol::ErrorCode::InvalidPath, format!("{given} is no path"))
        .detail("path", given)
        .detail("limit", 4096);
    let error = fit_error(error);
    assert!(error.message.len() < MAX_ERROR_TEXT + 40, "{}", error.message.len());
    assert!(error.message.ends_with("… [1048587 bytes in all]"));
    assert_eq!(error.details.keys().collect::<Vec<_>>(), ["limit"]);
}

#[test]
fn a_value_that_is_no_object_gets_an_envelope() {
    let cut = fit(json!("x".repeat(5000)), 1000, &store());
    assert!(cut["result"].as_str().unwrap().len() <= 1000);
    assert_eq!(cut["truncation"][0]["unit"], "characters");
}
