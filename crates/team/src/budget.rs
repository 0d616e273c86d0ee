//! What a user or a project may spend in a day.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{PeopleError, UserId};

/// Dollars of a budget at most; more is a slip of the keyboard.
const MOST_USD: f64 = 1e6;

/// What a budget is for. A part that is absent means each and all: a budget for a project holds for all of its
/// users together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetScope {
    /// What this user spends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// What is spent in this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map_or("all users", UserId::as_str);
        write!(f, "{user} in {}", self.project.as_deref().unwrap_or("all projects"))
    }
}

/// A limit for one day, which begins at midnight UTC by the clock of the database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DayBudget {
    pub scope: BudgetScope,
    /// US dollars a day.
    pub usd_per_day: f64,
}

impl DayBudget {
    /// The same, if it is an amount.
    pub fn checked(self) -> Result<Self, PeopleError> {
        match (0.0..=MOST_USD).contains(&self.usd_per_day) {
            true => Ok(self),
            false => Err(PeopleError::Invalid(format!("a budget is 0 to {MOST_USD} dollars"))),
        }
    }

    /// What was spent of it.
    pub fn spent_of(&self, spent: &[Spending]) -> f64 {
        let BudgetScope { user, project } = &self.scope;
        let counts = |spending: &&Spending| {
            (user.is_none() || spending.user == *user)
                && project.as_ref().is_none_or(|of| *of == spending.project)
        };
        spent.iter().filter(counts).map(|spending| spending.usd).sum()
    }
}

/// What a user has spent in a project today.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spending {
    /// The user; absent for sessions without an owner.
    pub user: Option<UserId>,
    pub project: String,
    /// US dollars, where prices are known.
    pub usd: f64,
}

/// A budget, and what was spent of it today.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetBalance {
    /// The limit.
    pub budget: DayBudget,
    /// US dollars, by all whom it holds for.
    pub spent: f64,
}

impl BudgetBalance {
    /// US dollars that may still be spent.
    pub fn left(&self) -> f64 {
        self.budget.usd_per_day - self.spent
    }

    /// Whether nothing may be spent any more.
    pub fn is_used_up(&self) -> bool {
        self.spent >= self.budget.usd_per_day
    }
}

/// The budgets that hold for a user in a project, with what was spent of each.
pub fn balances(
    budgets: &[DayBudget],
    spent: &[Spending],
    user: &UserId,
    project: &str,
) -> Vec<BudgetBalance> {
    let holds = |budget: &&DayBudget| {
        let BudgetScope { user: of_user, project: of_project } = &budget.scope;
        of_user.as_ref().is_none_or(|of| of == user)
            && of_project.as_ref().is_none_or(|of| of == project)
    };
    let balance = |budget: &DayBudget| BudgetBalance {
        budget: budget.clone(),
        spent: budget.spent_of(spent),
    };
    budgets.iter().filter(holds).map(balance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_used_up_stops_its_user_in_its_project() {
        let (ada, bob) = (UserId::named("ada"), UserId::named("bob"));
        let spent = [("ada", "web", 3.0), ("ada", "api", 2.0), ("bob", "web", 4.0)];
        let spent = spent.map(|(user, project, usd)| Spending {
            user: Some(UserId::named(user)),
            project: project.to_owned(),
            usd,
        });
        let stops = |user: Option<&str>, project: Option<&str>, usd: f64| {
            let scope =
                BudgetScope { user: user.map(UserId::named), project: project.map(str::to_owned) };
            let budgets = [DayBudget { scope, usd_per_day: usd }];
            [(&ada, "web"), (&ada, "api"), (&bob, "web"), (&bob, "api")].map(|(user, project)| {
                let mut all = balances(&budgets, &spent, user, project).into_iter();
                all.find(BudgetBalance::is_used_up).map(|balance| balance.spent)
            })
        };
        assert_eq!(stops(Some("ada"), None, 5.0), [Some(5.0), Some(5.0), None, None]);
        assert_eq!(stops(Some("ada"), None, 5.1), [None; 4]);
        assert_eq!(stops(None, Some("web"), 7.0), [Some(7.0), None, Some(7.0), None]);
        assert_eq!(stops(Some("ada"), Some("web"), 3.0), [Some(3.0), None, None, None]);
        assert_eq!(stops(None, None, 9.0), [Some(9.0); 4]);
        assert_eq!(stops(Some("bob"), Some("api"), 0.0), [None, None, None, Some(0.0)]);
    }

    #[test]
    fn a_budget_is_an_amount() {
        for (usd, is_good) in
            [(0.0, true), (5.5, true), (-1.0, false), (f64::NAN, false), (f64::INFINITY, false)]
        {
            let scope = BudgetScope { user: None, project: None };
            assert_eq!(DayBudget { scope, usd_per_day: usd }.checked().is_ok(), is_good, "{usd}");
        }
    }
}
