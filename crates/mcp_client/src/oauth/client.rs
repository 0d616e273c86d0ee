//! The login to one server: what it is shown, how that is renewed, and how it is begun and ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use net::Network;
use protocol::visible;
use tokio::sync::Mutex;

use super::challenge::{Challenge, union};
use super::discovery::{self, ResourceMetadata, ServerMetadata};
use super::login::{Begun, LoginAttempt, OFFLINE};
use super::record::{LockedVault, LoginRecord, Vault};
use super::registration::{self, ClientIdentity};
use super::secret::LoginSecret;
use super::token::{self, NotGranted, TokenSource, Tokens};
use super::web::{LoginWeb, shortened};
use crate::credentials::{HttpRefusal, NotAdmitted, ServerCredentials, bearer};
use crate::server_config::{OAuthConfig, OAuthGrant};

/// How long another process may take to renew the same login.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it has.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// What a login is made with.
pub struct LoginParts {
    /// The address of the server.
    pub url: String,
    /// What the user says about it.
    pub config: OAuthConfig,
    /// The secret that goes with a configured client.
    pub client_secret: Option<LoginSecret>,
    /// How the network is reached.
    pub network: Network,
    /// Where the login is kept.
    pub vault: Arc<dyn Vault>,
    /// The name of its file there.
    pub file: String,
}

/// The login to one server. A clone is the same login.
#[derive(Clone)]
pub struct OAuthClient {
    shared: Arc<Shared>,
}

struct Shared {
    web: LoginWeb,
    parts: LoginParts,
    held: Mutex<HeldLogin>,
}

#[derive(Default)]
struct HeldLogin {
    /// None until it was looked for.
    record: Option<Option<LoginRecord>>,
    /// What the server wanted last.
    challenge: Option<Challenge>,
    /// Only this process has it, because it could not be written.
    is_unwritten: bool,
    /// Shows nothing, to learn what the server wants.
    is_asking: bool,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OAuthClient of {}", self.shared.web.server().origin())
    }
}

impl OAuthClient {
    /// Nothing is read or sent before that is needed.
    pub fn new(parts: LoginParts) -> Result<Self, String> {
        let (network, allow) = (parts.network.clone(), parts.config.network_allow.clone());
        let web = LoginWeb::new(&parts.url, network, allow)?;
        Ok(Self { shared: Arc::new(Shared { web, parts, held: Mutex::default() }) })
    }

    /// Shows the server nothing from now on, so that it says what it wants.
    pub async fn ask_only(&self) {
        self.shared.held.lock().await.is_asking = true;
    }

    /// Begins a login that replaces the one there is. `answers_unasked` says that the server does
    /// not refuse what it was asked without one.
    pub async fn begin(&self, redirect: &str, answers_unasked: bool) -> Result<Begun, String> {
        let shared = &self.shared;
        let mut held = shared.held.lock().await;
        held.is_asking = false;
        let challenge = held.challenge.clone();
        if answers_unasked && challenge.is_none() && !shared.describes_itself().await? {
            return Err("it does not ask for a login".to_owned());
        }
        // A damaged or readable file is replaced by this login.
        let before = shared.kept().ok().flatten();
        let (resource, server) = shared.discovered(challenge.as_ref()).await?;
        shared.check_issuer(before.as_ref(), &server)?;
        if shared.is_by_client(&server) {
            let scopes = shared.scopes(challenge.as_ref(), before.as_ref(), &resource, None);
            let record = shared.by_client(&resource, &server, scopes).await;
            let record = record.map_err(NotGranted::why)?;
            shared.keep(&mut held, record)?;
            return Ok(Begun::Done);
        }
        let scopes = shared.scopes(challenge.as_ref(), before.as_ref(), &resource, Some(&server));
        let has_secret = shared.parts.client_secret.is_some();
        let config = &shared.parts.config;
        let client =
            registration::client(&shared.web, config, &server, redirect, has_secret).await?;
        let record = shared.record(&resource, &server, client, scopes);
        LoginAttempt::new(&server, record, redirect).map(|attempt| Begun::Asks(Box::new(attempt)))
    }

    /// Ends a login: exchanges the code in the address that the browser was sent to for tokens, and
    /// keeps them.
    pub async fn finish(&self, attempt: &LoginAttempt, redirected: &str) -> Result<(), String> {
        let shared = &self.shared;
        let code = attempt.code(redirected)?;
        let mut record = attempt.record.clone();
        let endpoint = shared.web.address(&record.token_endpoint)?;
        let source = shared.source(&endpoint, &record.client, &record.resource);
        let tokens = source.by_code(&code, &attempt.verifier, &attempt.redirect).await;
        record.tokens.take(tokens.map_err(NotGranted::why)?);
        let mut held = shared.held.lock().await;
        let _lock = shared.lock().await?;
        shared.keep(&mut held, record)
    }

    /// Forgets the login, here and, if it offers that, at its issuer. Answers whether there was one.
    pub async fn log_out(&self) -> Result<bool, String> {
        let shared = &self.shared;
        let mut held = shared.held.lock().await;
        if shared.parts.vault.read(&shared.parts.file) == Ok(None) {
            return Ok(false);
        }
        let _lock = shared.lock().await?;
        // One that others could read is removed all the same.
        let record = shared.kept().ok().flatten();
        held.record = Some(None);
        let was_there = shared.parts.vault.remove(&shared.parts.file)?;
        if let Some(record) = record {
            // What is forgotten here expires there, at the latest.
            token::revoked(&shared.web, &record, shared.parts.client_secret.as_ref()).await;
        }
        Ok(was_there)
    }
}

impl Shared {
    /// Whether the server says where to log in, though nothing was refused.
    async fn describes_itself(&self) -> Result<bool, String> {
        Ok(discovery::resource(&self.web, None).await?.is_some())
    }

    /// What is kept, read again.
    fn kept(&self) -> Result<Option<LoginRecord>, String> {
        let LoginParts { vault, file, config, url, .. } = &self.parts;
        LoginRecord::read(&**vault, file, url, config.issuer.as_deref())
    }

    /// Looks again for what is kept: another process may have changed it meanwhile. What could not be written is tried
    /// once more, and counts in any case: what is kept is older, and its refresh token is used up.
    fn look_again(&self, held: &mut HeldLogin) -> Result<(), NotAdmitted> {
        match held.record.as_ref().and_then(Option::as_ref).filter(|_| held.is_unwritten) {
            Some(record) => {
                held.is_unwritten = record.write(&*self.parts.vault, &self.parts.file).is_err();
            }
            None => held.record = Some(self.kept().map_err(NotAdmitted::NeedsLogin)?),
        }
        Ok(())
    }

    fn keep(&self, held: &mut HeldLogin, record: LoginRecord) -> Result<(), String> {
        let written = record.write(&*self.parts.vault, &self.parts.file);
        held.record = Some(Some(record));
        held.is_unwritten = written.is_err();
        written.map_err(|why| format!("the login cannot be kept: {why}"))
    }

    async fn lock(&self) -> Result<LockedVault, String> {
        let waited = async {
            loop {
                match self.parts.vault.lock() {
                    Ok(Some(lock)) => return Ok(lock),
                    Ok(None) => tokio::time::sleep(LOCK_INTERVAL).await,
                    Err(why) => return Err(why),
                }
            }
        };
        let waited = tokio::time::timeout(LOCK_PATIENCE, waited).await;
        waited.unwrap_or_else(|_| Err("another process is renewing a login".to_owned()))
    }

    /// What the server and the authorization server that it trusts say about themselves.
    async fn discovered(
        &self,
        challenge: Option<&Challenge>,
    ) -> Result<(ResourceMetadata, ServerMetadata), String> {
        let resource = discovery::resource(&self.web, challenge).await?;
        // Before there were descriptions of servers, a server was its own authorization server.
        let resource = resource.unwrap_or_else(|| ResourceMetadata {
            resource: self.web.server().as_str().trim_end_matches('/').to_owned(),
            issuers: vec![self.web.server().origin()],
            scopes: Vec::new(),
        });
        let issuer = match &self.parts.config.issuer {
            None => resource.issuers.first().cloned().unwrap_or_default(),
            Some(wanted) if resource.issuers.contains(wanted) => wanted.clone(),
            Some(wanted) => {
                let named = visible(&shortened(&resource.issuers.join(", ")));
                return Err(format!(
                    "it trusts {named} and not {}, which is configured as `oauth.issuer`",
                    visible(wanted)
                ));
            }
        };
        let server = discovery::server(&self.web, &issuer).await?;
        Ok((resource, server))
    }

    /// A client that the user registered belongs to the issuer where that was done.
    fn check_issuer(
        &self,
        before: Option<&LoginRecord>,
        server: &ServerMetadata,
    ) -> Result<(), String> {
        let changed = before.filter(|before| before.issuer != server.issuer);
        match (changed, &self.parts.config.client_id) {
            (Some(before), Some(_)) => Err(format!(
                "it trusts {} now and trusted {} before, where `oauth.client_id` was used; if the \
                 client is known there too, name it as `oauth.issuer`",
                visible(&shortened(&server.issuer)),
                visible(&shortened(&before.issuer))
            )),
            _ => Ok(()),
        }
    }

    /// Whether tokens are granted to the client itself, without a user.
    fn is_by_client(&self, server: &ServerMetadata) -> bool {
        let LoginParts { config, client_secret, .. } = &self.parts;
        let offers = |grant: &str| server.grants.iter().any(|one| one == grant);
        let is_wanted = config.grant == OAuthGrant::ClientCredentials
            || (offers("client_credentials") && !offers("authorization_code"));
        is_wanted && config.client_id.is_some() && client_secret.is_some()
    }

    /// What is asked for: what the server wants and wanted before, else all that it offers.
    fn scopes(
        &self,
        challenge: Option<&Challenge>,
        before: Option<&LoginRecord>,
        resource: &ResourceMetadata,
        refreshable: Option<&ServerMetadata>,
    ) -> Vec<String> {
        let mut scopes = self.parts.config.scopes.clone();
        if let Some(before) = before.filter(|before| before.resource == resource.resource) {
            scopes = union(&scopes, &union(&before.requested, &before.wanted));
        }
        scopes = union(&scopes, challenge.map_or(&[], |challenge| &challenge.scopes));
        if scopes.is_empty() {
            scopes.clone_from(&resource.scopes);
        }
        // A server that lists it grants refresh tokens for it.
        match refreshable.is_some_and(|server| server.scopes.iter().any(|one| one == OFFLINE)) {
            true => union(&scopes, &[OFFLINE.to_owned()]),
            false => scopes,
        }
    }

    fn record(
        &self,
        resource: &ResourceMetadata,
        server: &ServerMetadata,
        client: ClientIdentity,
        requested: Vec<String>,
    ) -> LoginRecord {
        LoginRecord {
            server: self.parts.url.clone(),
            issuer: server.issuer.clone(),
            resource: resource.resource.clone(),
            token_endpoint: server.token.to_string(),
            revocation_endpoint: server.revocation.as_ref().map(ToString::to_string),
            client,
            requested,
            wanted: Vec::new(),
            tokens: Default::default(),
        }
    }

    fn source<'s>(
        &'s self,
        endpoint: &'s net::WebUrl,
        client: &'s ClientIdentity,
        resource: &'s str,
    ) -> TokenSource<'s> {
        let client_secret = self.parts.client_secret.as_ref();
        TokenSource { web: &self.web, endpoint, client, client_secret, resource }
    }

    async fn by_client(
        &self,
        resource: &ResourceMetadata,
        server: &ServerMetadata,
        scopes: Vec<String>,
    ) -> Result<LoginRecord, NotGranted> {
        let client = registration::configured(&self.parts.config, server, true);
        let client = client.and_then(|client| client.ok_or("no client is configured".to_owned()));
        let client = client.map_err(NotGranted::Failed)?;
        let source = self.source(&server.token, &client, &resource.resource);
        let tokens = source.by_client(&scopes).await?;
        let mut record = self.record(resource, server, client, scopes);
        record.tokens.take(tokens);
        Ok(record)
    }

    /// New tokens for a login whose old ones are refused or have expired. They are kept before they
    /// are used, because the old ones may be worth nothing any more. If they cannot be kept, this process
    /// has them all the same.
    async fn renewed(
        &self,
        held: &mut HeldLogin,
        mut record: LoginRecord,
    ) -> Result<(), NotAdmitted> {
        let Some(refresh) = record.tokens.refresh.clone() else {
            return Err(NotAdmitted::NeedsLogin("the login has expired".to_owned()));
        };
        let granted: Result<Tokens, NotGranted> = async {
            let endpoint = self.web.address(&record.token_endpoint).map_err(NotGranted::Failed)?;
            self.source(&endpoint, &record.client, &record.resource).by_refresh(&refresh).await
        }
        .await;
        match granted {
            Ok(tokens) => {
                record.tokens.take(tokens);
                let _ = self.keep(held, record);
                Ok(())
            }
            Err(NotGranted::Denied(why)) => {
                record.tokens.refresh = None;
                let _ = self.keep(held, record);
                Err(NotAdmitted::NeedsLogin(format!("the login has ended: {why}")))
            }
            Err(NotGranted::Failed(why)) => {
                Err(NotAdmitted::Failed(format!("the login cannot be renewed: {why}")))
            }
        }
    }

    async fn header(&self) -> Result<Option<HeaderValue>, NotAdmitted> {
        let mut held = self.held.lock().await;
        if held.is_asking {
            return Ok(None);
        }
        if held.record.is_none() {
            held.record = Some(self.kept().map_err(NotAdmitted::NeedsLogin)?);
        }
        let is_old =
            |record: &LoginRecord| record.tokens.has_expired() && record.tokens.refresh.is_some();
        if held.record.iter().flatten().any(is_old) {
            let _lock = self.lock().await.map_err(NotAdmitted::Failed)?;
            // Another process may have done it meanwhile.
            self.look_again(&mut held)?;
            if let Some(record) = held.record.clone().flatten().filter(is_old) {
                self.renewed(&mut held, record).await?;
            }
        }
        Ok(shown(&held))
    }

    async fn refused(&self, refusal: HttpRefusal) -> Result<HeaderValue, NotAdmitted> {
        let mut held = self.held.lock().await;
        let challenge = Challenge::read(&refusal.challenges);
        held.challenge = Some(challenge.clone().unwrap_or_default());
        if held.is_asking {
            return Err(NotAdmitted::NeedsLogin("it wants a login".to_owned()));
        }
        // Without a login, nothing is made or locked.
        let kept = self.kept().map_err(NotAdmitted::NeedsLogin)?;
        if kept.is_none() && self.parts.client_secret.is_none() {
            held.record = Some(None);
            return Err(NotAdmitted::NeedsLogin("it wants a login".to_owned()));
        }
        let _lock = self.lock().await.map_err(NotAdmitted::Failed)?;
        self.look_again(&mut held)?;
        let is_news = |header: &HeaderValue| Some(header) != refusal.shown.as_ref();
        if let Some(other) = shown(&held).filter(is_news) {
            return Ok(other);
        }
        let record = held.record.clone().flatten();
        let wanted = challenge.as_ref().map_or(&[][..], |challenge| &challenge.scopes);
        match record {
            Some(record) if refusal.status == StatusCode::FORBIDDEN => {
                self.stepped_up(&mut held, record, wanted).await?;
            }
            Some(record) if record.tokens.refresh.is_some() => {
                self.renewed(&mut held, record).await?;
            }
            record => self.granted_to_client(&mut held, record, challenge.as_ref()).await?,
        }
        shown(&held).ok_or_else(|| NotAdmitted::NeedsLogin("it wants a login".to_owned()))
    }

    /// The server wants more than was granted. Only the user can grant it, unless there is none.
    async fn stepped_up(
        &self,
        held: &mut HeldLogin,
        mut record: LoginRecord,
        wanted: &[String],
    ) -> Result<(), NotAdmitted> {
        let missing: Vec<String> =
            wanted.iter().filter(|scope| !record.requested.contains(scope)).cloned().collect();
        if missing.is_empty() {
            let why = "it refuses this with the login that you have, and asks for nothing more";
            return Err(NotAdmitted::Failed(why.to_owned()));
        }
        record.wanted = union(&record.wanted, &missing);
        let names = shortened(&missing.join(", "));
        // The next login asks for it, if this can be kept.
        let _ = self.keep(held, record.clone());
        let challenge = held.challenge.clone();
        match self.granted_to_client(held, Some(record), challenge.as_ref()).await {
            Err(NotAdmitted::NeedsLogin(_)) => {
                Err(NotAdmitted::NeedsLogin(format!("it wants your consent to: {names}")))
            }
            granted => granted,
        }
    }

    /// Asks for tokens by the client's own secret, if that is how this server is used.
    async fn granted_to_client(
        &self,
        held: &mut HeldLogin,
        before: Option<LoginRecord>,
        challenge: Option<&Challenge>,
    ) -> Result<(), NotAdmitted> {
        if self.parts.client_secret.is_none() {
            return Err(NotAdmitted::NeedsLogin("the login has expired".to_owned()));
        }
        let discovered = self.discovered(challenge).await.map_err(NotAdmitted::Failed)?;
        let (resource, server) = discovered;
        self.check_issuer(before.as_ref(), &server).map_err(NotAdmitted::Failed)?;
        if !self.is_by_client(&server) {
            return Err(NotAdmitted::NeedsLogin("it wants a login".to_owned()));
        }
        let scopes = self.scopes(challenge, before.as_ref(), &resource, None);
        let record = self.by_client(&resource, &server, scopes).await;
        let record = record.map_err(|error| NotAdmitted::Failed(error.why()))?;
        self.keep(held, record).map_err(NotAdmitted::Failed)
    }
}

/// The header of the login there is.
fn shown(held: &HeldLogin) -> Option<HeaderValue> {
    bearer(held.record.as_ref()?.as_ref()?.tokens.access.as_ref()?.expose())
}

#[async_trait]
impl ServerCredentials for OAuthClient {
    async fn header(&self) -> Result<Option<HeaderValue>, NotAdmitted> {
        let shared = Arc::clone(&self.shared);
        finished(async move { shared.header().await }).await
    }

    async fn refused(&self, refusal: HttpRefusal) -> Result<HeaderValue, NotAdmitted> {
        let shared = Arc::clone(&self.shared);
        finished(async move { shared.refused(refusal).await }).await
    }
}

/// Goes on when the call that needs it is withdrawn: a refresh token that was used and whose
/// successor was never kept would end the login.
async fn finished<T: Send + 'static>(
    work: impl Future<Output = Result<T, NotAdmitted>> + Send + 'static,
) -> Result<T, NotAdmitted> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(NotAdmitted::Failed(error.to_string())))
}
