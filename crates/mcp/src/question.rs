//! A proposal as a form that a host shows to its user, and what the filled-in form means.

use protocol::{
    ApprovalRequest, ApprovalResponse, DiffKind, ErrorCode, FileDiff, Proposal, QuestionText,
    ToolError, visible,
};
use rmcp::model::{ElicitRequestParams, ProtocolVersion};
use serde_json::{Value, json};

use crate::approval::QuestionPage;
use crate::random_id::random_id;

/// Bytes of the diff in a question. Hosts show forms in small windows.
const MAX_SHOWN_DIFF: usize = 24 * 1024;

/// What the user can do where no question reaches them.
pub(crate) const HOW_TO_ALLOW: &str = "The user can allow it with a rule in the configuration or \
     with --allow TOOL:WHAT, or start `toolkiln mcp` with --yes if the host asks before it calls.";

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// The question as a form for a client of this revision.
pub(crate) fn form(
    request: &ApprovalRequest,
    version: &ProtocolVersion,
) -> Result<ElicitRequestParams, ToolError> {
    let words = FormWords::of(request);
    let mut decision = choices(request, &words, version);
    decision["type"] = "string".into();
    decision["title"] = words.headline.into();
    let note = json!({"type": "string", "title": "If not: the reason, for the model"});
    let params = json!({
        "mode": "form",
        "message": QuestionText::of(request, MAX_SHOWN_DIFF).to_string(),
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": decision, "note": note},
            "required": ["decision"],
        },
    });
    params_of(params)
}

/// The question as a link to the page that shows it. The page shows all of the diff, so the link does
/// not.
pub(crate) fn link(
    request: &ApprovalRequest,
    page: &dyn QuestionPage,
) -> Result<ElicitRequestParams, ToolError> {
    let FormWords { headline, .. } = FormWords::of(request);
    let message = format!("{headline} The page shows exactly what would be done. Answer it there.");
    params_of(json!({
        "mode": "url",
        "message": message,
        "url": page.address(request),
        "elicitationId": random_id()?,
    }))
}

fn params_of(params: Value) -> Result<ElicitRequestParams, ToolError> {
    serde_json::from_value(params).map_err(|error| {
        ToolError::new(ErrorCode::Internal, format!("the question cannot be put: {error}"))
    })
}

/// The user, or the host alone, does not want to open the page.
pub(crate) fn not_opened() -> ToolError {
    let message = "the page with the question was not opened, and nothing was done";
    ToolError::new(ErrorCode::ApprovalRequired, message)
        .suggest("Ask the user to open the link, or go on without this change.")
}

/// What the form says about this proposal in particular.
struct FormWords {
    headline: String,
    yes: &'static str,
    no: &'static str,
}

impl FormWords {
    fn of(request: &ApprovalRequest) -> Self {
        let (headline, yes, no) = match &request.proposal {
            Proposal::Command(_) => ("Run this command?".into(), "Run it", "Do not run it"),
            Proposal::Web(_) => ("Send this request?".into(), "Send it", "Do not send it"),
            Proposal::Foreign(call) if call.asks.is_some() => {
                ("Send this answer?".into(), "Send it", "Do not send it")
            }
            Proposal::Foreign(_) => ("Call this tool?".into(), "Call it", "Do not call it"),
            Proposal::Changes(_) => {
                (change_headline(&request.diffs), "Apply it", "Do not apply it")
            }
        };
        Self { headline, yes, no }
    }
}

fn change_headline(diffs: &[FileDiff]) -> String {
    let [file] = diffs else { return format!("Change {} files?", diffs.len()) };
    let verb = match file.kind {
        DiffKind::Create => "Create",
        DiffKind::Delete => "Delete",
        DiffKind::Move => "Move",
        _ => "Change",
    };
    let path = visible(&file.path);
    match &file.from_path {
        Some(from) => format!("{verb} {} to {path}?", visible(from)),
        None => format!("{verb} {path}?"),
    }
}

/// What can be chosen, and how it reads. Choices with titles are written in another way since
/// revision 2025-11-25, which is also the first in which a choice can be the default.
fn choices(request: &ApprovalRequest, words: &FormWords, version: &ProtocolVersion) -> Value {
    let always = request.remembers.as_deref();
    let always = always.map(|rule| (ALWAYS, format!("{}; {}", words.yes, visible(rule))));
    let all = [(ONCE, words.yes.to_owned())].into_iter().chain(always);
    let all = all.chain([(DENY, words.no.to_owned())]);
    if version.as_str() >= ProtocolVersion::V_2025_11_25.as_str() {
        let all = all.map(|(value, title)| json!({"const": value, "title": title}));
        return json!({"oneOf": all.collect::<Value>(), "default": DEFAULT});
    }
    let (values, titles): (Vec<&str>, Vec<String>) = all.unzip();
    json!({"enum": values, "enumNames": titles})
}

/// The choice of a form that is accepted as it is. Clients fill in defaults without showing a form to
/// anyone, and that must not be a yes.
const DEFAULT: &str = DENY;

/// What the answer means. Only an accepted form with an allowing choice is a yes, and only a form
/// that a user has filled in is a no; everything else may have come from the host alone.
pub(crate) fn response_to(
    request: &ApprovalRequest,
    answer: &Value,
) -> Result<ApprovalResponse, ToolError> {
    let content = &answer["content"];
    let note = content["note"].as_str().filter(|note| !note.trim().is_empty());
    match (answer["action"].as_str(), content["decision"].as_str()) {
        (Some("accept"), Some(ONCE)) => Ok(request.approve()),
        (Some("accept"), Some(ALWAYS)) if request.remembers.is_some() => {
            Ok(request.approve_always())
        }
        (Some("accept"), Some(DENY)) => Ok(ApprovalResponse::no(note.map(str::to_owned))),
        _ if note.is_some() => Ok(ApprovalResponse::no(note.map(str::to_owned))),
        (action, _) => Err(undecided(action)),
    }
}

fn undecided(action: Option<&str>) -> ToolError {
    let how = match action {
        Some(known @ ("accept" | "decline" | "cancel")) => {
            format!("with `{known}` and no decision")
        }
        _ => "in a way that cannot be understood".to_owned(),
    };
    let message = format!(
        "the host answered the question {how}; the user may not have seen it, and nothing was done"
    );
    ToolError::new(ErrorCode::ApprovalRequired, message).suggest(HOW_TO_ALLOW)
}
