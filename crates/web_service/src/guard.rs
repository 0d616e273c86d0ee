//! Decides which requests are listened to. Pure: request parts in, the client or a refusal out.
//!
//! Three questions, each with its own answer, on every route:
//! 1. Is the request for this service? `Host` names it, which a page that another name was pointed at
//!    this machine for (DNS rebinding) cannot say.
//! 2. Does it come from our own page or from no page at all? `Origin` and `Sec-Fetch-Site` are what
//!    browsers say of that, and pages cannot change them.
//! 3. Which client is it? A token in the header, or a cookie. A cookie alone proves little, because
//!    browsers send it by themselves, so it counts only with an answer to the second question.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

use crate::credentials::{AccessScope, Credentials, KnownClient, Proof};

pub const COOKIE_NAME: &str = "toolkiln";
/// The name of a team's cookie behind TLS: browsers let no page of a neighbouring host set it.
const HOST_COOKIE: &str = "__Host-toolkiln";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What our page sends with every request that changes something. A page of another origin cannot
/// send it without asking first, and is never told yes.
pub const OWN_HEADER: HeaderName = HeaderName::from_static("x-toolkiln");

/// The addresses under which the service is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    scheme: &'static str,
    /// What `Host` may say, in small letters.
    hosts: Vec<String>,
}

/// The address is not one of a proxy that can stand before the service.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of a proxy such as https://kiln.example.org")]
pub struct InvalidFrontProxy(String);

impl Site {
    /// This machine, at the address that is listened at. `others` are more names that lead here and nowhere else:
    /// another user's program may listen at the same port of another loopback address.
    pub fn loopback(address: SocketAddr, others: &[&str]) -> Self {
        let own = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let names: Vec<&str> =
            std::iter::once(own.as_str()).chain(others.iter().copied()).collect();
        let port = address.port();
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.iter().map(|name| (*name).to_owned()));
        }
        Self { scheme: "http", hosts }
    }

    /// A proxy that the user has named, which speaks TLS to browsers.
    pub fn proxy(address: &str) -> Result<Self, InvalidFrontProxy> {
        let invalid = || InvalidFrontProxy(address.to_owned());
        let uri: Uri = address.parse().map_err(|_| invalid())?;
        let authority = uri.authority().ok_or_else(invalid)?;
        let is_plain = uri.path() == "/" && uri.query().is_none() && !address.contains(['@', '#']);
        if uri.scheme_str() != Some("https") || !is_plain || authority.host().ends_with('.') {
            return Err(invalid());
        }
        Ok(Self { scheme: "https", hosts: vec![authority.as_str().to_ascii_lowercase()] })
    }

    /// Whether browsers reach it through TLS.
    pub fn is_secure(&self) -> bool {
        self.scheme == "https"
    }

    /// The name of a team's cookie.
    pub(crate) fn team_cookie(&self) -> &'static str {
        if self.is_secure() { HOST_COOKIE } else { COOKIE_NAME }
    }

    /// The address to open.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.hosts.first().map_or("", String::as_str))
    }

    fn has(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

/// What a route asks of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: how to log in, and what the API looks like.
    Nothing,
    /// To be logged in.
    Login,
    Scope(AccessScope),
}

/// Why a request is not listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `Host` is missing, doubled, or names something else.
    #[error("the request is not for this service: its Host is not one of ours")]
    Host,
    /// The request comes from another page, or a browser does not say from where.
    #[error("the request does not come from this service's own page")]
    Origin,
    /// No token and no cookie that are good.
    #[error("a token or a login is needed")]
    Unknown,
    /// The client may do other things, but not this.
    #[error("the token does not include the scope that this needs")]
    Scope,
}

impl Refusal {
    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin | Self::Scope => StatusCode::FORBIDDEN,
            Self::Unknown => StatusCode::UNAUTHORIZED,
        }
    }
}

/// The parts of a request that are judged.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    pub method: &'a Method,
    /// Its target. What stands in the query is never a credential.
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
}

/// The client, or why it is refused. None where no login is needed and there is none.
pub fn judge(
    request: RequestParts<'_>,
    site: &Site,
    credentials: &Credentials,
    need: Need,
    now: u64,
) -> Result<Option<KnownClient>, Refusal> {
    let page = addressed(request, site)?;
    let caller = match shown(request.headers, COOKIE_NAME)? {
        Shown::Token(token) => Some(credentials.by_token(token).ok_or(Refusal::Unknown)?),
        // A page at another port of this machine can set a cookie of our name too; it is not signed.
        Shown::Cookies(all) => all.into_iter().find_map(|it| credentials.by_cookie(it, now)),
    };
    admitted(request, page, caller, need)
}

/// The first two questions: what a browser says of the page that a request comes from, if the request is for this
/// service and not from another page.
pub(crate) fn addressed(request: RequestParts<'_>, site: &Site) -> Result<SaidOfPage, Refusal> {
    let host = checked_host(request, site)?;
    checked_page(request, site, host)
}

/// Whether a client that was recognised, or was not, may ask for what needs this.
pub(crate) fn admitted(
    request: RequestParts<'_>,
    page: SaidOfPage,
    caller: Option<KnownClient>,
    need: Need,
) -> Result<Option<KnownClient>, Refusal> {
    if let Some(KnownClient { by: Proof::Cookie, .. }) = caller
        && !page.is_own(request)
    {
        return Err(Refusal::Origin);
    }
    match (need, &caller) {
        (Need::Nothing, _) => Ok(caller),
        (Need::Login, Some(known)) if known.uses_api() => Ok(caller),
        (Need::Scope(scope), Some(known)) if known.may(scope) => Ok(caller),
        (Need::Login | Need::Scope(_), Some(_)) => Err(Refusal::Scope),
        (Need::Login | Need::Scope(_), None) => Err(Refusal::Unknown),
    }
}

/// Whether the page itself may be shown. It holds nothing secret and cannot be framed, so links of other pages and
/// programs may lead to it; what it loads then is judged as coming from it.
pub fn judge_page(request: RequestParts<'_>, site: &Site) -> Result<(), Refusal> {
    checked_host(request, site).map(|_| ())
}

fn checked_host<'a>(request: RequestParts<'a>, site: &Site) -> Result<&'a str, Refusal> {
    let host = only(request.headers, &HOST).map_err(|_| Refusal::Host)?.ok_or(Refusal::Host)?;
    // A target with a host of its own counts before the header, for whoever routes by it.
    let target = request.uri.authority().map(|authority| authority.as_str());
    if site.has(host) && target.is_none_or(|target| target.eq_ignore_ascii_case(host)) {
        Ok(host)
    } else {
        Err(Refusal::Host)
    }
}

/// What a browser says of the page that a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SaidOfPage {
    /// The origin is our own; otherwise it is not told.
    has_own_origin: bool,
    fetched: Fetched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetched {
    /// By our own page.
    SameOrigin,
    /// By the user, who has typed or opened the address.
    ByUser,
    NotTold,
}

impl SaidOfPage {
    /// Whether it is certain that no other page has sent the request.
    fn is_own(self, request: RequestParts<'_>) -> bool {
        if is_read(request.method) {
            return self.has_own_origin || self.fetched != Fetched::NotTold;
        }
        self.has_own_origin
            && self.fetched != Fetched::ByUser
            && request.headers.contains_key(OWN_HEADER)
    }
}

/// Whether a request of this method changes nothing.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Refuses requests of other pages, whatever they bring along.
fn checked_page(request: RequestParts<'_>, site: &Site, host: &str) -> Result<SaidOfPage, Refusal> {
    let has_own_origin = match only(request.headers, &ORIGIN).map_err(|_| Refusal::Origin)? {
        None => false,
        // Browsers write both the same way. `null` is not an origin.
        Some(origin) if origin == format!("{}://{host}", site.scheme) => true,
        Some(_) => return Err(Refusal::Origin),
    };
    let fetched = only(request.headers, &SEC_FETCH_SITE).map_err(|_| Refusal::Origin)?;
    let fetched = match fetched {
        None => Fetched::NotTold,
        Some("same-origin") => Fetched::SameOrigin,
        Some("none") => Fetched::ByUser,
        Some(_) => return Err(Refusal::Origin),
    };
    Ok(SaidOfPage { has_own_origin, fetched })
}

/// What a client shows to be recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// A token. If it is not good, the client is refused, whatever the cookies say.
    Token(&'a str),
    /// The values of all cookies of our name; none if there is none.
    Cookies(Vec<&'a str>),
}

/// What a client shows.
pub(crate) fn shown<'a>(headers: &'a HeaderMap, cookie: &str) -> Result<Shown<'a>, Refusal> {
    if let Some(value) = only(headers, &AUTHORIZATION).map_err(|_| Refusal::Unknown)? {
        let token = value.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        return token.map(|(_, token)| Shown::Token(token)).ok_or(Refusal::Unknown);
    }
    Ok(Shown::Cookies(cookies(headers, cookie)))
}

/// The values of all cookies of a name.
pub(crate) fn cookies<'a>(headers: &'a HeaderMap, wanted: &str) -> Vec<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let ours = lines.flat_map(|line| line.split(';')).filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == wanted).then_some(value)
    });
    ours.collect()
}

struct Doubled;

/// The only value of a header. Two values are read differently by different programs.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Doubled> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| Doubled),
        (Some(_), Some(_)) => Err(Doubled),
    }
}
