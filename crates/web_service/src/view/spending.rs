//! What was spent today, read from the logs, and what is left of budgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use store::{StatsFilter, Store};
use team::{DayBudget, PeopleStore, Spending, UserId, exceeded};

use crate::hub::{HubError, SessionHub};

/// Milliseconds of a day. Days of budgets begin at midnight UTC.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Reads what was spent.
pub(super) struct Ledger<'a> {
    pub(super) hub: &'a SessionHub,
    /// Projects that are served elsewhere.
    pub(super) others: &'a [(String, Arc<dyn Store>)],
    pub(super) people: &'a dyn PeopleStore,
}

impl Ledger<'_> {
    /// What a user may still spend in a project today; none if no budget says anything.
    pub(super) async fn left(
        &self,
        budgets: &[DayBudget],
        user: &UserId,
        project: &str,
    ) -> Result<Option<f64>, HubError> {
        let applies = |budget: &&DayBudget| {
            budget.scope.user.as_ref().is_none_or(|of| of == user)
                && budget.scope.project.as_ref().is_none_or(|of| of == project)
        };
        let applying: Vec<DayBudget> = budgets.iter().filter(applies).cloned().collect();
        if applying.is_empty() {
            return Ok(None);
        }
        let spent = self.spent_today().await?;
        if let Some((budget, spent)) = exceeded(&applying, &spent, user, project) {
            let scope = budget.scope.to_string();
            return Err(HubError::OverBudget { scope, spent, limit: budget.usd_per_day });
        }
        let left = applying.iter().map(|budget| budget.usd_per_day - budget.spent_of(&spent));
        Ok(left.reduce(f64::min))
    }

    /// What was spent since midnight, by user and project. The clock is the database's.
    pub(super) async fn spent_today(&self) -> Result<Vec<Spending>, HubError> {
        let now = self.people.now().await?;
        let filter = StatsFilter { sessions: None, since: Some(now - now.rem_euclid(DAY_MS)) };
        let served = self.hub.projects().iter();
        let served = served.map(|served| (served.name.clone(), &served.parts.store));
        let others = self.others.iter().map(|(name, store)| (name.clone(), store));
        let mut sums: BTreeMap<(String, Option<UserId>), f64> = BTreeMap::new();
        for (project, store) in served.chain(others) {
            let stats = store.stats(&filter).await?;
            let paid = stats.sessions.iter().filter(|session| session.cost_usd.is_some());
            let paid: Vec<_> = paid.collect();
            let ids: Vec<String> = paid.iter().map(|paid| paid.session.to_string()).collect();
            let owners = self.people.access(&ids).await?;
            for (session, access) in paid.into_iter().zip(owners) {
                let sum = sums.entry((project.clone(), access.owner)).or_default();
                *sum += session.cost_usd.unwrap_or_default();
            }
        }
        let spending = |((project, user), usd)| Spending { user, project, usd };
        Ok(sums.into_iter().map(spending).collect())
    }
}
