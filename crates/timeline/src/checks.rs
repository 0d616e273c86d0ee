//! What the checks after a change said, in lines for the user.

use serde_json::Value;

use crate::safe_text::one_line;

/// A line for each check that did not pass or would have changed files.
pub(crate) fn lines(value: &Value) -> Vec<String> {
    // The changes of a command have a report of their own.
    let reports = [value.get("checks"), value.pointer("/changes/checks")];
    let checks = reports.into_iter().flatten().filter_map(Value::as_array).flatten();
    checks.filter_map(line).collect()
}

fn line(check: &Value) -> Option<String> {
    let parts: Vec<String> = [failure(check), changes(check)].into_iter().flatten().collect();
    let name = one_line(check.get("name")?.as_str()?);
    (!parts.is_empty()).then(|| format!("check {name}: {}", parts.join("; ")))
}

fn failure(check: &Value) -> Option<String> {
    if check.get("ok")?.as_bool()? {
        return None;
    }
    let text = |key: &str| check.get(key).and_then(Value::as_str).map(one_line);
    let number = |key: &str| check.get(key).and_then(Value::as_i64);
    let why = text("why").map(|why| format!(" ({why})")).unwrap_or_default();
    let code = number("exit_code").map(|code| format!("exit code {code}"));
    let signal = || number("signal").map(|signal| format!("ended by signal {signal}{why}"));
    let not_run = || text("not_run").map(|why| format!("it did not run: {why}"));
    code.or_else(signal).or_else(not_run).or_else(|| Some("failed".into()))
}

fn changes(check: &Value) -> Option<String> {
    let paths = check.pointer("/changes/paths")?.as_array()?;
    let named: Vec<String> = paths.iter().filter_map(Value::as_str).map(one_line).collect();
    let all = check.pointer("/changes/files").and_then(Value::as_u64);
    let more = all.map(|all| format!(", … ({all} files)")).unwrap_or_default();
    Some(format!("it would change {}{more}; that was thrown away", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn only_what_the_user_should_know_is_a_line() {
        let checks = json!([
            {"name": "good", "ok": true},
            {"name": "bad", "ok": false, "exit_code": 1, "output": "x"},
            {"name": "slow\u{1b}", "ok": false, "signal": 9, "why": "it took longer than 1 s"},
            {"name": "gone", "ok": false, "not_run": "no such program"},
            {"name": "format", "ok": true, "changes": {"paths": ["a", "b"], "files": 30, "dropped": "x"}},
        ]);
        let expected = [
            "check bad: exit code 1",
            "check slow\\x1B: ended by signal 9 (it took longer than 1 s)",
            "check gone: it did not run: no such program",
            "check format: it would change a, b, … (30 files); that was thrown away",
        ];
        assert_eq!(lines(&json!({"checks": checks})), expected);
        assert_eq!(lines(&json!({"changes": {"checks": checks}})), expected);
        assert!(lines(&json!({"checks": "x"})).is_empty() && lines(&json!("x")).is_empty());
    }
}
