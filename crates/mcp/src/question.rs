//! A proposal as a form that a host shows, and what the filled-in form means.

use protocol::{
    ApprovalRequest, ApprovalResponse, ErrorCode, FileDiff, Proposal, Remember, ToolError,
    describe_command, unified, visible,
};
use rmcp::model::{ElicitRequestParams, ProtocolVersion};
use serde_json::{Value, json};

/// Bytes of the diff in a question. Hosts show forms in small windows.
const MAX_SHOWN_DIFF: usize = 24 * 1024;
/// Characters of the reason. The model may have written it, and must not push the diff away.
const MAX_REASON: usize = 500;
/// Files that are named when a part of the diff is left out.
const MAX_NAMED_FILES: usize = 100;

/// What can be chosen, and how it reads.
const DECISIONS: [(&str, &str); 4] = [
    ("once", "Do it"),
    ("files", "Do it, and do not ask again for this tool on these files"),
    ("directories", "Do it, and do not ask again for this tool in these directories"),
    ("deny", "Do not do it"),
];

/// The question as a form for a client of this revision.
pub(crate) fn form(
    request: &ApprovalRequest,
    version: &ProtocolVersion,
) -> Result<ElicitRequestParams, ToolError> {
    let mut decision = choices(version);
    decision["type"] = "string".into();
    decision["title"] = "Decision".into();
    let note = json!({"type": "string", "title": "If not: the reason, for the model"});
    let params = json!({
        "mode": "form",
        "message": message(request),
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": decision, "note": note},
            "required": ["decision"],
        },
    });
    serde_json::from_value(params).map_err(|error| {
        ToolError::new(ErrorCode::Internal, format!("the question cannot be put: {error}"))
    })
}

/// Choices with titles are written in another way since revision 2025-11-25.
fn choices(version: &ProtocolVersion) -> Value {
    if version.as_str() >= ProtocolVersion::V_2025_11_25.as_str() {
        let choice = |(value, title)| json!({"const": value, "title": title});
        return json!({"oneOf": DECISIONS.map(choice)});
    }
    json!({"enum": DECISIONS.map(|(value, _)| value), "enumNames": DECISIONS.map(|(_, title)| title)})
}

fn message(request: &ApprovalRequest) -> String {
    let mut reason = visible(&request.reason);
    if let Some((end, _)) = reason.char_indices().nth(MAX_REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    let what = match &request.proposal {
        Proposal::Command(command) => describe_command(command),
        _ => shown(&request.diffs),
    };
    format!("{reason}\n\n{what}")
}

/// The diff. If it does not fit, all files come first, so that none hides behind the cut.
fn shown(diffs: &[FileDiff]) -> String {
    let diff = unified(diffs);
    if diff.len() <= MAX_SHOWN_DIFF {
        return diff;
    }
    let mut text = String::new();
    for file in diffs.iter().take(MAX_NAMED_FILES) {
        let FileDiff { kind, path, added, removed, .. } = file;
        text.push_str(&format!("{kind:?} {} +{added} -{removed}\n", visible(path)));
        for warning in &file.warnings {
            text.push_str(&format!("  warning: {warning}\n"));
        }
    }
    if let Some(more @ 1..) = diffs.len().checked_sub(MAX_NAMED_FILES) {
        text.push_str(&format!("… and {more} more files\n"));
    }
    let most = diff.floor_char_boundary(MAX_SHOWN_DIFF);
    // Whole lines, unless one alone is too long.
    let lines = diff[..most].rfind('\n').map(|at| at + 1).filter(|end| *end > most / 2);
    let (begin, rest) = diff.split_at(lines.unwrap_or(most));
    let (lines, bytes) = (rest.lines().count(), rest.len());
    format!("{text}\n{begin}\n… {lines} more lines ({bytes} bytes) of the diff are not shown")
}

/// What the user's answer means. Only an accepted form with an allowing decision is a yes.
pub(crate) fn response_to(answer: &Value) -> ApprovalResponse {
    let content = &answer["content"];
    let yes = |remember| ApprovalResponse { remember, ..ApprovalResponse::yes() };
    match (answer["action"].as_str(), content["decision"].as_str()) {
        (Some("accept"), Some("once")) => yes(None),
        (Some("accept"), Some("files")) => yes(Some(Remember::Files)),
        (Some("accept"), Some("directories")) => yes(Some(Remember::Directories)),
        _ => {
            let note = content["note"].as_str().filter(|note| !note.trim().is_empty());
            ApprovalResponse::no(note.map(str::to_owned))
        }
    }
}
