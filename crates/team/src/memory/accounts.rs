//! Users, tokens, browsers and invitations.

use super::*;

impl State {
    pub(super) fn user_of(&self, identity: &Identity) -> Option<User> {
        let found = self.users.iter().find(|(_, known)| known.as_ref() == Some(identity));
        found.map(|(user, _)| user.clone())
    }

    pub(super) fn change_user(
        &mut self,
        by: &UserId,
        id: &UserId,
        change: UserChange,
    ) -> Result<User, PeopleError> {
        let change = change.checked()?;
        let user = self.user(id)?.clone();
        let is_admin = |(user, _): &&(User, _)| user.role == TeamRole::Admin && !user.is_disabled;
        if change.ends_admin(&user) && self.users.iter().filter(is_admin).count() == 1 {
            return Err(PeopleError::LastAdmin);
        }
        let told = change.told();
        let user = User {
            name: change.name.unwrap_or(user.name),
            role: change.role.unwrap_or(user.role),
            is_disabled: change.is_disabled.unwrap_or(user.is_disabled),
            ..user
        };
        if user.is_disabled {
            self.browsers.retain(|_, browser| browser.user != *id);
        }
        self.users.iter_mut().filter(|(it, _)| it.id == *id).for_each(|it| it.0 = user.clone());
        self.note(Some(by), AuditKind::UserChanged, id.as_str(), &told);
        self.version += 1;
        Ok(user)
    }

    pub(super) fn by_token(&mut self, hash: &SecretHash) -> Option<Recognised> {
        let now = self.now();
        let found =
            self.tokens.iter_mut().find(|(info, known)| known == hash && now < info.expires);
        let (info, _) = found?;
        info.used = Some(now);
        let (user, id, scopes) = (info.user.clone(), info.id.clone(), info.scopes.clone());
        let until = info.expires;
        self.recognised(&user, Credential::Token { id, scopes }, until)
    }

    pub(super) fn by_browser(&self, hash: &SecretHash) -> Option<Recognised> {
        let KnownBrowser { user, expires, made_with } = self.browsers.get(hash)?;
        let maker = |id: &String| self.tokens.iter().find(|(info, _)| info.id == *id);
        let token = made_with.as_ref().and_then(maker).map(|(info, _)| BrowserToken {
            id: info.id.clone(),
            good_for: Duration::from_millis(
                u64::try_from(info.expires - self.now()).unwrap_or_default(),
            ),
        });
        self.recognised(user, Credential::Browser { token }, *expires)
    }

    pub(super) fn begin_browser(&mut self, new: NewBrowser) -> Result<(), PeopleError> {
        let NewBrowser { user, hash, seconds, made_with } = new;
        self.user(&user)?;
        self.maker(made_with.as_deref())?;
        let expires = self.after(seconds);
        self.note(Some(&user), AuditKind::LoggedIn, user.as_str(), "");
        self.browsers.insert(hash, KnownBrowser { user, expires, made_with });
        Ok(())
    }

    /// What was revoked meanwhile makes nothing.
    fn maker(&self, token: Option<&str>) -> Result<(), PeopleError> {
        let is_known = |id: &str| self.tokens.iter().any(|(info, _)| info.id == id);
        match token.filter(|id| !is_known(id)) {
            Some(id) => Err(PeopleError::NotFound { what: "token", name: id.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn end_browser(&mut self, hash: &SecretHash) -> bool {
        let ended = self.browsers.remove(hash);
        if let Some(KnownBrowser { user, .. }) = &ended {
            self.note(Some(user), AuditKind::LoggedOut, user.as_str(), "");
            self.version += 1;
        }
        ended.is_some()
    }

    pub(super) fn add_token(
        &mut self,
        by: &UserId,
        new: NewToken,
    ) -> Result<TokenInfo, PeopleError> {
        self.user(&new.user)?;
        self.maker(new.made_with.as_deref())?;
        let made = self.now();
        let info = TokenInfo {
            id: self.next_id(),
            user: new.user,
            name: new.name,
            scopes: new.scopes,
            made,
            expires: made + i64::from(new.days) * DAY_SECONDS * SECOND_MS,
            used: None,
            made_with: new.made_with,
        };
        self.tokens.push((info.clone(), new.hash));
        self.note(Some(by), AuditKind::TokenMade, &info.id, &info.name);
        Ok(info)
    }

    pub(super) fn tokens(&self, user: Option<&UserId>) -> Vec<TokenInfo> {
        let tokens = self.tokens.iter().map(|(info, _)| info.clone());
        tokens.filter(|info| user.is_none_or(|user| info.user == *user)).collect()
    }

    pub(super) fn revoke_token(
        &mut self,
        by: &UserId,
        owner: Option<&UserId>,
        id: &str,
    ) -> Result<(), PeopleError> {
        let is_it =
            |info: &TokenInfo| info.id == id && owner.is_none_or(|owner| info.user == *owner);
        let missing = || PeopleError::NotFound { what: "token", name: id.to_owned() };
        let at = self.tokens.iter().position(|(info, _)| is_it(info)).ok_or_else(missing)?;
        let mut revoked = vec![self.tokens.remove(at).0];
        while let Some(TokenInfo { id, made_with, .. }) = revoked.pop() {
            let detail = made_with.map(|maker| format!("made with {maker}")).unwrap_or_default();
            self.note(Some(by), AuditKind::TokenRevoked, &id, &detail);
            let is_made = |maker: &Option<String>| maker.as_ref() == Some(&id);
            self.browsers.retain(|_, browser| !is_made(&browser.made_with));
            let tokens = std::mem::take(&mut self.tokens).into_iter();
            let (made, others): (Vec<_>, _) =
                tokens.partition(|(info, _)| is_made(&info.made_with));
            self.tokens = others;
            revoked.extend(made.into_iter().map(|(info, _)| info));
        }
        self.version += 1;
        Ok(())
    }

    pub(super) fn invite(&mut self, by: Option<&UserId>, new: NewInvitation) -> InvitationInfo {
        let info = InvitationInfo {
            id: self.next_id(),
            note: new.note,
            role: new.role,
            projects: new.projects,
            made_by: by.cloned(),
            expires: self.after(new.seconds),
        };
        self.invitations.push(KnownInvitation { info: info.clone(), hash: new.hash });
        self.note(by, AuditKind::Invited, &info.id, &format!("role {}: {}", info.role, info.note));
        info
    }

    pub(super) fn invite_first_admin(&mut self, new: NewInvitation) -> bool {
        if self.has_admin() {
            return false;
        }
        self.invitations.retain(|one| one.info.made_by.is_some());
        self.invite(None, new);
        true
    }

    pub(super) fn invitations(&self) -> Vec<InvitationInfo> {
        let open = self.invitations.iter().filter(|one| self.is_open(&one.info));
        open.map(|one| one.info.clone()).collect()
    }

    pub(super) fn withdraw_invitation(&mut self, by: &UserId, id: &str) -> Result<(), PeopleError> {
        let missing = || PeopleError::NotFound { what: "invitation", name: id.to_owned() };
        let at = self.invitations.iter().position(|one| one.info.id == id).ok_or_else(missing)?;
        self.invitations.remove(at);
        self.note(Some(by), AuditKind::InvitationWithdrawn, id, "");
        Ok(())
    }

    pub(super) fn accept(
        &mut self,
        invitation: &SecretHash,
        new: NewUser,
    ) -> Result<Option<User>, PeopleError> {
        let Some(at) = self.open_invitation(invitation) else { return Ok(None) };
        let InvitationInfo { id: invited, role, projects, .. } = self.invitations[at].info.clone();
        let known = new.identity.as_ref().and_then(|identity| self.user_of(identity));
        let user = match known {
            Some(user) => {
                let change =
                    UserChange { role: Some(role.max(user.role)), ..UserChange::default() };
                self.change_user(&user.id, &user.id, change)?
            }
            None => self.add_user(new, role)?,
        };
        self.invitations.retain(|one| one.info.id != invited);
        for project in projects {
            self.shares.insert(Share { project, user: user.id.clone() });
        }
        self.version += 1;
        Ok(Some(user))
    }
}
