//! What a project's own file may say. Opening a project must not give the user wider rights, other
//! costs or other addresses from it, so everything that is not listed here is refused.

use toml::Value;
use tool_system::policy::{ApprovalMode, CommandMode};

/// How a project's value narrows the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Narrowing {
    /// The lower of two numbers counts; any number is lower than none.
    Lower,
    /// The stricter of two modes counts.
    Mode,
    /// Commands can be asked about.
    Commands,
    /// It can be switched off.
    SwitchOff,
    /// The lists are joined.
    Add,
    /// The lists of rules are joined; none of the project's may allow.
    AddRules,
}

/// The keys that a project may set; a name that ends with a dot stands for all in that section.
const IN_PROJECTS: [(&str, Narrowing); 11] = [
    ("tools.disabled", Narrowing::Add),
    ("tools.network", Narrowing::SwitchOff),
    ("limits.", Narrowing::Lower),
    ("policy.mode", Narrowing::Mode),
    ("policy.commands", Narrowing::Commands),
    ("policy.rules", Narrowing::AddRules),
    ("agent.turn_limit", Narrowing::Lower),
    ("agent.token_budget", Narrowing::Lower),
    ("agent.cost_budget_usd", Narrowing::Lower),
    ("agent.wall_time_s", Narrowing::Lower),
    ("agent.project_instructions", Narrowing::SwitchOff),
];

/// How a project may set `key`, or why it may not.
pub(super) fn of_project(key: &str) -> Result<Narrowing, &'static str> {
    let covers = |name: &str| if name.ends_with('.') { key.starts_with(name) } else { key == name };
    let listed = IN_PROJECTS.iter().find(|(name, _)| covers(name));
    listed.map(|(_, narrow)| *narrow).ok_or_else(|| why_not(key))
}

fn why_not(key: &str) -> &'static str {
    match key.split('.').next() {
        Some("model") => {
            "a project cannot choose where your requests and keys go or what they cost"
        }
        Some("web") => "a project cannot choose which servers are asked in your name",
        Some("sandbox") => "a project cannot lead commands into your network or files",
        Some("checks") => "a project cannot run commands by itself",
        Some("mcp") => {
            "a project cannot start programs; it can name servers in .mcp.json, for you to trust"
        }
        Some("editor") => "a project cannot decide how your editor is used",
        Some("telemetry") => "a project cannot choose where telemetry is sent",
        Some("terminal") => "a project cannot decide how your terminal behaves",
        Some("agent") => "a project cannot speak to the model in your name",
        _ => "a project must not widen what you allow",
    }
}

/// The value after a project asked for `asked`; none if that would not narrow anything.
pub(super) fn narrowed(narrow: Narrowing, current: Option<&Value>, asked: &Value) -> Option<Value> {
    match narrow {
        Narrowing::Add | Narrowing::AddRules => joined(current, asked),
        Narrowing::SwitchOff => {
            (*asked == Value::Boolean(false) && current != Some(asked)).then(|| asked.clone())
        }
        Narrowing::Commands => {
            let ask = CommandMode::Ask.as_str();
            (asked.as_str() == Some(ask) && current != Some(asked)).then(|| asked.clone())
        }
        Narrowing::Mode => stricter(current, asked).then(|| asked.clone()),
        Narrowing::Lower => lower(current, asked).then(|| asked.clone()),
    }
}

fn joined(current: Option<&Value>, asked: &Value) -> Option<Value> {
    let more = asked.as_array().filter(|more| !more.is_empty())?;
    let before = current.and_then(Value::as_array).into_iter().flatten();
    Some(Value::Array(before.chain(more).cloned().collect()))
}

fn stricter(current: Option<&Value>, asked: &Value) -> bool {
    let mode = |value: &Value| value.as_str()?.parse::<ApprovalMode>().ok();
    match (current.and_then(mode), mode(asked)) {
        (Some(current), asked) => current.narrowed_by(asked) != current,
        (None, asked) => asked.is_some(),
    }
}

fn lower(current: Option<&Value>, asked: &Value) -> bool {
    match (current, asked) {
        (None, _) => true,
        (Some(Value::Integer(current)), Value::Integer(asked)) => asked < current,
        (Some(current), asked) => match (number(current), number(asked)) {
            (Some(current), Some(asked)) => asked < current,
            _ => false,
        },
    }
}

#[allow(clippy::cast_precision_loss, reason = "only amounts of money are compared as floats")]
fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema::{Named, Schema};

    #[test]
    fn only_what_narrows_counts() {
        let list = |names: &[&str]| Value::from(names.to_vec());
        let cases = [
            (Narrowing::Lower, Some(Value::from(10)), Value::from(5), Some(Value::from(5))),
            (Narrowing::Lower, Some(Value::from(10)), Value::from(10), None),
            (Narrowing::Lower, Some(Value::from(10)), Value::from(11), None),
            (Narrowing::Lower, None, Value::from(7), Some(Value::from(7))),
            (Narrowing::Lower, Some(Value::from(2)), Value::from(1.5), Some(Value::from(1.5))),
            (Narrowing::Lower, Some(Value::from(1.5)), Value::from(2), None),
            (Narrowing::Mode, Some("workspace".into()), "strict".into(), Some("strict".into())),
            (Narrowing::Mode, Some("strict".into()), "workspace".into(), None),
            (Narrowing::SwitchOff, Some(true.into()), false.into(), Some(false.into())),
            (Narrowing::SwitchOff, Some(false.into()), true.into(), None),
            (Narrowing::Add, Some(list(&["a"])), list(&["b"]), Some(list(&["a", "b"]))),
            (Narrowing::Add, Some(list(&["a"])), list(&[]), None),
            (Narrowing::AddRules, None, list(&["b"]), Some(list(&["b"]))),
        ];
        for (narrow, current, asked, expected) in cases {
            assert_eq!(
                narrowed(narrow, current.as_ref(), &asked),
                expected,
                "{narrow:?} {current:?} {asked:?}"
            );
        }
    }

    #[test]
    fn what_leads_requests_elsewhere_or_widens_is_refused_and_every_rule_is_about_a_key() {
        for key in ["model.provider", "model.base_url", "model.key_file", "model.prices.input"] {
            assert!(of_project(key).unwrap_err().contains("requests and keys"), "{key}");
        }
        assert!(of_project("agent.instructions").unwrap_err().contains("in your name"));
        assert!(of_project("checks.after_edit").unwrap_err().contains("by itself"));
        assert!(of_project("sandbox.network_allow").unwrap_err().contains("your network"));
        for key in [
            "web.hosts",
            "web.network_allow",
            "web.search.url",
            "web.search.key_env",
            "web.search.model",
        ] {
            assert!(of_project(key).unwrap_err().contains("in your name"), "{key}");
        }
        assert!(of_project("terminal.notify").unwrap_err().contains("your terminal"));
        assert!(of_project("roles").unwrap_err().contains("must not widen"));
        let schema = Schema::new();
        for (name, _) in IN_PROJECTS {
            let expected = if name.ends_with('.') { Named::Section } else { Named::Key };
            assert_eq!(schema.named(name.trim_end_matches('.')), expected, "{name}");
        }
    }
}
