//! A question to the user, asked by the editor.
//!
//! Whatever comes back that is not one of the offered yeses is a no. A yes carries the hash of the proposal that
//! was shown, as everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, EnumOption, Error, MultiSelectPropertySchema,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    StringPropertySchema, ToolCallUpdate,
};
use protocol::{ApprovalRequest, ApprovalResponse, Change, DiffKind, FileDiff, Proposal, visible};
use session::ApprovalManager;
use tool_system::ToolExecutor;

use crate::wire::SessionWire;

/// The names of the options, which the editor sends back.
const ALLOW: &str = "allow";
const ALLOW_ALWAYS: &str = "allow_always";
const ALLOW_PARTS: &str = "allow_parts";
const REJECT: &str = "reject";
const REJECT_ALWAYS: &str = "reject_always";
/// The fields of forms.
const REASON: &str = "reason";
const PARTS: &str = "parts";
/// Parts that a form lists; a user who has more to pick from rejects with words.
const MAX_PARTS: usize = 100;

/// An open question with everything that asking it takes.
pub(crate) struct EditorQuestion {
    pub(crate) wire: SessionWire,
    /// The call as the editor knows it.
    pub(crate) call: ToolCallUpdate,
    pub(crate) request: Box<ApprovalRequest>,
    pub(crate) approvals: Arc<ApprovalManager>,
    pub(crate) executor: ToolExecutor,
}

impl EditorQuestion {
    /// Asks until there is an answer, or the question is settled otherwise: then the editor is told that it need
    /// not ask any more.
    pub(crate) async fn ask(self) {
        let response = tokio::select! {
            biased;
            () = self.settled() => return,
            response = self.answer() => response,
        };
        // It may have been settled in this very moment.
        let _ = self.approvals.answer_to(&self.request, response);
    }

    async fn settled(&self) {
        let mut changes = self.approvals.changes();
        while self.approvals.is_open(&self.request) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self) -> ApprovalResponse {
        let request = RequestPermissionRequest::new(
            self.wire.id.clone(),
            self.call.clone(),
            options(&self.request, self.wire.editor.has_forms),
        );
        let room = self.wire.connection.room().await;
        let answered = self.wire.connection.request(&request);
        drop(room);
        let chosen = match answered.await.map(|answer| answer.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => selected.option_id.0,
            Ok(_) => return ApprovalResponse::no(None),
            // The editor is gone, which ends the turn. It has not said no.
            Err(_) if self.wire.connection.is_closed() => std::future::pending().await,
            Err(error) => return not_asked(&error),
        };
        let offered = options(&self.request, self.wire.editor.has_forms);
        if !offered.iter().any(|option| option.option_id.0 == chosen) {
            let reason =
                format!("the editor answered `{}`, which was not offered", visible(&chosen));
            return ApprovalResponse::no(Some(reason));
        }
        match &*chosen {
            ALLOW => self.request.approve(),
            ALLOW_ALWAYS => self.request.approve_always(),
            ALLOW_PARTS => self.picked().await,
            REJECT_ALWAYS => {
                self.executor.refuse_alike(&self.request);
                ApprovalResponse::no(None)
            }
            _ => ApprovalResponse::no(self.reason().await),
        }
    }

    /// Why the user says no, if the editor can ask.
    async fn reason(&self) -> Option<String> {
        if !self.wire.editor.has_forms {
            return None;
        }
        let field = StringPropertySchema::new().title("What should be done instead?".to_owned());
        let schema = ElicitationSchema::new().property(REASON, field, false);
        let content = self.form("Rejected. The model can be told why.", schema).await?;
        match content.get(REASON) {
            Some(ElicitationContentValue::String(text)) if !text.trim().is_empty() => {
                Some(text.trim().to_owned())
            }
            _ => None,
        }
    }

    /// A yes to the parts that the user picks, which are asked about once more.
    async fn picked(&self) -> ApprovalResponse {
        let parts = parts(&self.request.diffs);
        let listed = parts.iter().map(|part| EnumOption::new(part.name(), part.title.clone()));
        let field = MultiSelectPropertySchema::titled(listed.collect())
            .title("Parts to accept".to_owned())
            .default_value(parts.iter().map(ChangePart::name).collect::<Vec<_>>());
        let schema = ElicitationSchema::new().property(PARTS, field, true);
        let content = self.form("Which parts of the change are to be made?", schema).await;
        let names = match content.as_ref().and_then(|content| content.get(PARTS)) {
            Some(ElicitationContentValue::StringArray(names)) if !names.is_empty() => names,
            _ => return ApprovalResponse::no(None),
        };
        let mut accepted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for part in &parts {
            let of_file = accepted.entry(part.path.clone()).or_default();
            if names.contains(&part.name()) {
                of_file.push(part.number);
            }
        }
        match accepted.values().all(Vec::is_empty) {
            true => ApprovalResponse::no(None),
            false => self.request.with_hunks(accepted),
        }
    }

    async fn form(
        &self,
        message: &str,
        schema: ElicitationSchema,
    ) -> Option<BTreeMap<String, ElicitationContentValue>> {
        let scope = ElicitationSessionScope::new(self.wire.id.clone())
            .tool_call_id(self.call.tool_call_id.clone());
        let form = CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message);
        match self.wire.connection.request(&form).await.ok()?.action {
            ElicitationAction::Accept(accepted) => accepted.content,
            _ => None,
        }
    }
}

fn not_asked(error: &Error) -> ApprovalResponse {
    let why = visible(&error.message);
    ApprovalResponse::no(Some(format!("the editor could not ask the user: {why}")))
}

/// What the user can answer. That it is offered to remember something depends on whether a rule can say exactly
/// what.
fn options(request: &ApprovalRequest, has_forms: bool) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let rule = request.remembers.as_deref().map(visible);
    let always = rule.as_ref().map(|rule| {
        PermissionOption::new(ALLOW_ALWAYS, format!("Always allow: {rule}"), AllowAlways)
    });
    let count = parts(&request.diffs).len();
    let some = (has_forms && (2..=MAX_PARTS).contains(&count))
        .then(|| PermissionOption::new(ALLOW_PARTS, "Allow parts of it…", AllowOnce));
    let never = rule.as_ref().map(|_| {
        let name = format!("Reject, and refuse in this session: {}", what_is_asked(request));
        PermissionOption::new(REJECT_ALWAYS, name, RejectAlways)
    });
    let allow = PermissionOption::new(ALLOW, "Allow once", AllowOnce);
    let reject = PermissionOption::new(REJECT, "Reject", RejectOnce);
    [Some(allow), some, always, Some(reject), never].into_iter().flatten().collect()
}

/// The tool with what it is about, which is what a rule names.
fn what_is_asked(request: &ApprovalRequest) -> String {
    let what = match &request.proposal {
        Proposal::Changes(set) => {
            let paths: Vec<&str> = set.changes.iter().flat_map(Change::paths).collect();
            paths.join(", ")
        }
        Proposal::Command(command) => command.argv.last().cloned().unwrap_or_default(),
        Proposal::Web(web) => web.url.clone(),
        Proposal::Foreign(call) => format!("of the MCP server {}", call.server),
    };
    format!("{} {}", visible(&request.tool), visible(&what))
}

/// A part of a change that can be accepted by itself.
#[derive(Debug, PartialEq, Eq)]
struct ChangePart {
    path: String,
    /// As the diff of the file counts, from zero.
    number: usize,
    title: String,
}

impl ChangePart {
    fn name(&self) -> String {
        format!("{}#{}", self.path, self.number)
    }
}

fn parts(diffs: &[FileDiff]) -> Vec<ChangePart> {
    let files = diffs.iter().filter(|diff| diff.kind != DiffKind::MakeDir);
    let parts = files.flat_map(|diff| {
        (0..diff.parts()).map(|number| {
            let path = visible(&diff.path);
            let title = match diff.hunks.get(number) {
                Some(hunk) => {
                    let last = hunk.new_start + hunk.new_lines.saturating_sub(1);
                    format!("{path}, lines {} to {last}", hunk.new_start)
                }
                None => path,
            };
            ChangePart { path: diff.path.clone(), number, title }
        })
    });
    parts.collect()
}
