//! What the user can choose for a session: its mode, its model and how hard it thinks.
//!
//! A mode is a role and, where the role may change anything, what needs approval in it.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use context_manager::Effort;
use protocol::{AgentRole, ToolPermission};
use session::Model;
use tool_system::policy::ApprovalMode;

/// The names of the options, which editors send back.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "effort";
/// As hard as the model does by itself.
const USUAL_EFFORT: &str = "usual";
const EFFORTS: [Effort; 3] = [Effort::Low, Effort::Medium, Effort::High];

/// A role and what needs approval in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EditorMode {
    pub(crate) role: AgentRole,
    pub(crate) approval: ApprovalMode,
}

impl EditorMode {
    /// Whether it makes a difference what needs approval.
    fn is_asked(&self) -> bool {
        let granted = self.role.permissions();
        ToolPermission::ALL
            .iter()
            .any(|it| *it != ToolPermission::ReadFiles && granted.contains(*it))
    }

    pub(crate) fn id(&self) -> String {
        match self.is_asked() {
            true => format!("{}:{}", self.role.name(), self.approval),
            false => self.role.name().to_owned(),
        }
    }

    fn drawn(&self) -> SessionMode {
        let (name, about) = match (self.is_asked(), self.approval) {
            (false, _) => (self.role.name().to_owned(), "Explores and plans; changes nothing."),
            (true, ApprovalMode::ReadOnly) => {
                (format!("{}, read-only", self.role.name()), "Nothing is written.")
            }
            (true, ApprovalMode::Strict) => {
                (format!("{}, asks", self.role.name()), "Every change asks.")
            }
            (true, ApprovalMode::Workspace) => (
                format!("{}, new files pass", self.role.name()),
                "New files, new directories and moves that replace nothing pass; everything else asks.",
            ),
        };
        SessionMode::new(self.id(), name).description(about.to_owned())
    }
}

/// What is chosen, and from what.
pub(crate) struct Choices {
    pub(crate) roles: Vec<AgentRole>,
    pub(crate) present: EditorMode,
    pub(crate) models: Vec<String>,
    pub(crate) model: Model,
}

impl Choices {
    fn modes(&self) -> Vec<EditorMode> {
        let mut modes = Vec::new();
        for role in &self.roles {
            for approval in ApprovalMode::ALL {
                let mode = EditorMode { role: role.clone(), approval: *approval };
                if mode.is_asked() || *approval == self.present.approval {
                    modes.push(mode);
                }
            }
        }
        modes
    }

    /// The mode that an editor names.
    pub(crate) fn mode(&self, id: &str) -> Option<EditorMode> {
        self.modes().into_iter().find(|mode| mode.id() == id)
    }

    pub(crate) fn mode_state(&self) -> SessionModeState {
        let modes = self.modes().iter().map(EditorMode::drawn).collect();
        SessionModeState::new(self.present.id(), modes)
    }

    /// Editors that know options leave modes alone, so that the mode is one of them.
    pub(crate) fn options(&self) -> Vec<SessionConfigOption> {
        let modes = self.modes();
        let modes = modes.iter().map(EditorMode::drawn).map(|mode| {
            SessionConfigSelectOption::new(mode.id.0, mode.name).description(mode.description)
        });
        let mode =
            SessionConfigOption::select(MODE, "Mode", self.present.id(), modes.collect::<Vec<_>>())
                .category(SessionConfigOptionCategory::Mode);
        let present = &self.model.name;
        let unlisted = (!self.models.contains(present)).then_some(present);
        let models = unlisted.into_iter().chain(&self.models);
        let models = models.map(|name| SessionConfigSelectOption::new(name.clone(), name.clone()));
        let model = SessionConfigOption::select(
            MODEL,
            "Model",
            present.clone(),
            models.collect::<Vec<_>>(),
        )
        .category(SessionConfigOptionCategory::Model);
        let efforts = std::iter::once(USUAL_EFFORT).chain(EFFORTS.map(<&str>::from));
        let efforts = efforts.map(|name| SessionConfigSelectOption::new(name, name));
        let chosen = self.model.effort.map_or(USUAL_EFFORT, <&str>::from);
        let effort =
            SessionConfigOption::select(EFFORT, "Effort", chosen, efforts.collect::<Vec<_>>())
                .description("How hard the model is asked to think".to_owned())
                .category(SessionConfigOptionCategory::ThoughtLevel);
        vec![mode, model, effort]
    }
}

/// The effort that an editor names; none inside if it is left to the model.
pub(crate) fn effort_named(name: &str) -> Option<Option<Effort>> {
    if name == USUAL_EFFORT {
        return Some(None);
    }
    EFFORTS.into_iter().find(|effort| <&str>::from(*effort) == name).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_a_role_and_what_it_asks_about() {
        let present = EditorMode { role: AgentRole::Actor, approval: ApprovalMode::Strict };
        let model = Model {
            provider: std::sync::Arc::new(NoProvider),
            name: "m".into(),
            max_tokens: 1,
            context_tokens: 1,
            effort: None,
            prices: None,
            calls_tools: true,
            images: None,
        };
        let roles = vec![AgentRole::Planner, AgentRole::Actor];
        let choices = Choices { roles, present, models: Vec::new(), model };
        let ids: Vec<String> = choices.modes().iter().map(EditorMode::id).collect();
        assert_eq!(ids, ["planner", "actor:read-only", "actor:strict", "actor:workspace"]);
        for id in &ids {
            assert_eq!(choices.mode(id).map(|mode| mode.id()).as_ref(), Some(id));
        }
        assert_eq!(choices.mode("actor:yolo"), None);
        assert_eq!(effort_named("high"), Some(Some(Effort::High)));
        assert_eq!((effort_named("usual"), effort_named("x")), (Some(None), None));
    }

    struct NoProvider;

    #[async_trait::async_trait]
    impl context_manager::ModelProvider for NoProvider {
        fn name(&self) -> &str {
            "none"
        }

        async fn stream(
            &self,
            _: &context_manager::ModelRequest,
        ) -> Result<context_manager::ModelStream, context_manager::ModelError> {
            unreachable!("the test asks nothing")
        }
    }
}
