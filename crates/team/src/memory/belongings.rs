//! Shares, sessions, budgets and keys.

use super::*;

impl State {
    pub(super) fn share(&mut self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        self.user(&share.user)?;
        if self.shares.insert(share.clone()) {
            self.note(Some(by), AuditKind::Shared, share.user.as_str(), &share.project);
            self.version += 1;
        }
        Ok(())
    }

    pub(super) fn unshare(&mut self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        if !self.shares.remove(share) {
            return Err(PeopleError::NotFound { what: "share", name: share.project.clone() });
        }
        self.note(Some(by), AuditKind::Unshared, share.user.as_str(), &share.project);
        self.version += 1;
        Ok(())
    }

    pub(super) fn own(&mut self, session: &str, owner: &UserId) {
        let access = SessionAccess { owner: Some(owner.clone()), visibility: Visibility::Private };
        self.sessions.entry(session.to_owned()).or_insert(access);
    }

    pub(super) fn access(&self, sessions: &[String]) -> Vec<SessionAccess> {
        let unknown = || SessionAccess { owner: None, visibility: Visibility::Private };
        let known = |id| self.sessions.get(id).cloned().unwrap_or_else(unknown);
        sessions.iter().map(known).collect()
    }

    pub(super) fn set_visibility(
        &mut self,
        by: &UserId,
        session: &str,
        visibility: Visibility,
    ) -> Result<(), PeopleError> {
        let missing = || PeopleError::NotFound { what: "session", name: session.to_owned() };
        self.sessions.get_mut(session).ok_or_else(missing)?.visibility = visibility;
        self.note(Some(by), AuditKind::VisibilityChanged, session, &visibility.to_string());
        self.version += 1;
        Ok(())
    }

    pub(super) fn keep_of_removed(&mut self, removed: RemovedSession) {
        let RemovedSession { session, project, owner: user, at, usd, answers } = removed;
        let is_kept = |entry: &AuditEntry| entry.session.as_ref() == Some(&session);
        let is_answer = |kind| matches!(kind, AuditKind::Approved | AuditKind::Denied);
        self.audit.retain(|entry| !(is_kept(entry) && is_answer(entry.kind)));
        self.audit.extend(answers);
        let spending = crate::Spending { user, project, usd };
        let spent = RemovedSpending { session: session.clone(), spending };
        self.removed.insert(session, (spent, at));
    }

    pub(super) fn set_budget(&mut self, by: &UserId, budget: DayBudget) -> Result<(), PeopleError> {
        let DayBudget { scope, usd_per_day } = budget.checked()?;
        let detail = format!("{usd_per_day} USD a day");
        self.note(Some(by), AuditKind::BudgetSet, &told(&scope), &detail);
        self.budgets.insert(scope, usd_per_day);
        Ok(())
    }

    pub(super) fn remove_budget(
        &mut self,
        by: &UserId,
        scope: &BudgetScope,
    ) -> Result<(), PeopleError> {
        if self.budgets.remove(scope).is_none() {
            return Err(PeopleError::NotFound { what: "budget", name: told(scope) });
        }
        self.note(Some(by), AuditKind::BudgetRemoved, &told(scope), "");
        Ok(())
    }

    pub(super) fn keep_key(&mut self, owner: &KeyOwner, sealed: Sealed) {
        let now = self.now();
        self.keys.insert(owner.clone(), (sealed, now));
        self.note(Some(&owner.user), AuditKind::KeyKept, &owner.provider, "");
    }

    pub(super) fn kept_keys(&self, user: &UserId) -> Vec<KeptKey> {
        let own = self.keys.iter().filter(|(owner, _)| owner.user == *user);
        let kept = own.map(|(owner, (sealed, kept))| KeptKey {
            provider: owner.provider.clone(),
            sealed_with: sealed.key_id.clone(),
            kept: *kept,
        });
        kept.collect()
    }

    pub(super) fn sealed_keys(&self, user: Option<&UserId>) -> Vec<(KeyOwner, Sealed)> {
        let keys = self.keys.iter().map(|(owner, (sealed, _))| (owner.clone(), sealed.clone()));
        keys.filter(|(owner, _)| user.is_none_or(|user| owner.user == *user)).collect()
    }

    pub(super) fn reseal_key(&mut self, owner: &KeyOwner, from: &Sealed, to: Sealed) -> bool {
        match self.keys.get_mut(owner) {
            Some((sealed, _)) if sealed == from => {
                *sealed = to;
                true
            }
            _ => false,
        }
    }

    pub(super) fn remove_key(&mut self, owner: &KeyOwner) -> Result<(), PeopleError> {
        if self.keys.remove(owner).is_none() {
            return Err(PeopleError::NotFound { what: "key", name: owner.provider.clone() });
        }
        self.note(Some(&owner.user), AuditKind::KeyRemoved, &owner.provider, "");
        Ok(())
    }
}

fn told(scope: &BudgetScope) -> String {
    scope.to_string()
}
