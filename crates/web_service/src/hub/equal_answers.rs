//! A rule that is made for a whole project answers the equal questions that wait in it.

use std::sync::Arc;

use protocol::ApprovalRequest;
use session::ApprovalManager;
use team::UserId;

use super::SessionHub;

impl SessionHub {
    /// Says yes to the questions of others that the rule settles which this answer of a user has just made for the
    /// whole project. Those of the session that asked are settled by it.
    pub(crate) async fn answer_equal(
        &self,
        asker: &Arc<ApprovalManager>,
        project: &str,
        answered: &ApprovalRequest,
        by: Option<&str>,
    ) {
        for (approvals, owner) in self.askers(project).await {
            let may_settle = self.team().is_none_or(|team| team.may_settle(by, owner.as_ref()));
            if Arc::ptr_eq(&approvals, asker) || !may_settle {
                continue;
            }
            for asked in approvals.pending() {
                if answered.remembers_the_same_as(&asked) {
                    let mut response = asked.approve();
                    response.by = by.map(str::to_owned);
                    // A question that was answered meanwhile needs no answer.
                    let _ = approvals.answer_to(&asked, response);
                }
            }
        }
    }

    /// Everything that asks in a project here, and for which user. Where the user cannot be asked for now, the question
    /// waits on.
    async fn askers(&self, project: &str) -> Vec<(Arc<ApprovalManager>, Option<UserId>)> {
        let mut askers = Vec::new();
        for live in self.live_sessions() {
            if live.project().name != project {
                continue;
            }
            let owner = match self.team() {
                None => Ok(None),
                Some(team) => team.owner(live.id()).await,
            };
            if let Ok(owner) = owner {
                askers.push((live.approvals(), owner));
            }
        }
        let served = self.projects().iter().filter(|served| served.name == project);
        let direct = served.flat_map(|served| served.all_direct_calls());
        askers.extend(direct.map(|calls| (Arc::clone(calls.approvals()), calls.user().cloned())));
        askers
    }
}
