//! What was spent today, read from the logs, and what is left of budgets.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use store::{SessionCost, StatsFilter};
use team::{BudgetBalance, RemovedSpending, Spending, UserId};

use super::TeamState;
use crate::hub::{HubError, SessionHub};

/// Milliseconds of a day. Days of budgets begin at midnight UTC.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// When the day of a moment begins.
pub(super) fn day_begin(at: i64) -> i64 {
    at - at.rem_euclid(DAY_MS)
}

/// Reads what was spent.
pub(super) struct Ledger<'a> {
    pub(super) hub: &'a SessionHub,
    pub(super) team: &'a TeamState,
}

impl Ledger<'_> {
    /// The budgets that hold for a user in a project, with what was spent of each today.
    pub(super) async fn balances(
        &self,
        user: &UserId,
        project: &str,
    ) -> Result<Vec<BudgetBalance>, HubError> {
        let people = self.team.people();
        if let Some(known) = people.balances(user, project).await? {
            return Ok(known);
        }
        let budgets = people.budgets().await?;
        match budgets.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(team::balances(&budgets, &self.spent_today().await?, user, project)),
        }
    }

    /// What was spent since midnight, by user and project, also in sessions that were deleted since. The clock is the
    /// database's.
    pub(super) async fn spent_today(&self) -> Result<Vec<Spending>, HubError> {
        let people = self.team.people();
        let since = day_begin(people.now().await?);
        let filter = StatsFilter { sessions: None, since: Some(since) };
        let served = self.hub.projects().iter();
        let served = served.map(|served| (served.name.clone(), Arc::clone(&served.parts.store)));
        let others = self.team.other_projects(self.hub).await?;
        let mut sums: BTreeMap<(String, Option<UserId>), f64> = BTreeMap::new();
        let mut counted = HashSet::new();
        for (project, store) in served.chain(others) {
            let paid = store.spent(&filter).await?;
            let ids: Vec<String> = paid.iter().map(|paid| paid.session.to_string()).collect();
            let owners = people.access(&ids).await?;
            for (SessionCost { usd, .. }, access) in paid.into_iter().zip(owners) {
                *sums.entry((project.clone(), access.owner)).or_default() += usd;
            }
            counted.extend(ids);
        }
        for RemovedSpending { session, spending } in people.spent_by_removed(since).await? {
            // One that is still there was about to be deleted when something failed.
            if !counted.contains(&session) && spending.usd != 0.0 {
                *sums.entry((spending.project, spending.user)).or_default() += spending.usd;
            }
        }
        let spending = |((project, user), usd)| Spending { user, project, usd };
        Ok(sums.into_iter().map(spending).collect())
    }
}
