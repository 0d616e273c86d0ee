//! Budgets, and what was spent today.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::{BudgetScope, DayBudget, Spending, TeamRole, UserId};

use super::user;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};

pub(super) fn routes() -> Vec<Route> {
    let admin = Need::Scope(AccessScope::Admin);
    let path = "/api/budgets";
    vec![
        Route::new(Method::GET, path, admin, "What may be spent in a day.", budgets),
        Route::new(
            Method::PUT,
            path,
            admin,
            "Sets what a user, a project, or both together may spend in a day.",
            set,
        ),
        Route::new(Method::DELETE, path, admin, "Removes a budget.", remove),
        Route::new(
            Method::GET,
            "/api/spending",
            Need::Login,
            "What was spent since midnight UTC: by all users for an admin, one's own for others.",
            spending,
        ),
    ]
}

/// What a budget is for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BudgetQuery {
    /// All users if left out.
    user: Option<String>,
    /// All projects if left out.
    project: Option<String>,
}

fn scope(user: Option<&str>, project: Option<&str>) -> BudgetScope {
    BudgetScope { user: user.map(UserId::named), project: project.map(str::to_owned) }
}

/// Budgets.
#[derive(Debug, Serialize, JsonSchema)]
struct BudgetList {
    budgets: Vec<ListedBudget>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedBudget {
    user: Option<String>,
    project: Option<String>,
    usd_per_day: f64,
}

async fn budgets(request: Request<Nothing, Nothing>) -> Result<BudgetList, ApiError> {
    let budgets = user(&request)?.team.people().budgets().await?;
    let listed = |DayBudget { scope, usd_per_day }| ListedBudget {
        user: scope.user.map(|user| user.to_string()),
        project: scope.project,
        usd_per_day,
    };
    Ok(BudgetList { budgets: budgets.into_iter().map(listed).collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BudgetBody {
    /// All users if left out.
    user: Option<String>,
    /// All projects if left out.
    project: Option<String>,
    usd_per_day: f64,
}

async fn set(request: Request<Nothing, BudgetBody>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let BudgetBody { user, project, usd_per_day } = &request.body;
    let scope = scope(user.as_deref(), project.as_deref());
    let budget = DayBudget { scope, usd_per_day: *usd_per_day };
    asking.team.people().set_budget(asking.id(), budget).await?;
    Ok(Nothing {})
}

async fn remove(request: Request<BudgetQuery, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let BudgetQuery { user, project } = &request.query;
    let scope = scope(user.as_deref(), project.as_deref());
    asking.team.people().remove_budget(asking.id(), &scope).await?;
    Ok(Nothing {})
}

/// What was spent.
#[derive(Debug, Serialize, JsonSchema)]
struct SpendingList {
    spending: Vec<ListedSpending>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedSpending {
    user: Option<String>,
    project: String,
    /// US dollars, where prices are known.
    usd: f64,
}

async fn spending(request: Request<Nothing, Nothing>) -> Result<SpendingList, ApiError> {
    let asking = user(&request)?;
    let all = request.app.spent_today().await?.into_iter();
    let is_seen = |spent: &Spending| {
        asking.role() == TeamRole::Admin || spent.user.as_ref() == Some(asking.id())
    };
    let listed = |Spending { user, project, usd }| ListedSpending {
        user: user.map(|user| user.to_string()),
        project,
        usd,
    };
    Ok(SpendingList { spending: all.filter(is_seen).map(listed).collect() })
}
