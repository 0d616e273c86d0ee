//! What a server over HTTP is shown so that it answers.

use async_trait::async_trait;
use hyper::StatusCode;
use hyper::header::HeaderValue;

/// Says which `Authorization` header the requests to one server carry.
#[async_trait]
pub trait ServerCredentials: Send + Sync {
    /// The header for the next request; none if there is nothing to show yet.
    async fn header(&self) -> Result<Option<HeaderValue>, NotAdmitted>;

    /// The server refused a request. Answers with another header that is worth one more try.
    async fn refused(&self, refusal: HttpRefusal) -> Result<HeaderValue, NotAdmitted>;
}

/// How a server refused a request.
#[derive(Clone, Debug)]
pub struct HttpRefusal {
    /// 401, or 403.
    pub status: StatusCode,
    /// The values of its `WWW-Authenticate` headers.
    pub challenges: Vec<String>,
    /// What it was shown.
    pub shown: Option<HeaderValue>,
}

/// Why a server does not answer. The texts are parts of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The user has to log in.
    NeedsLogin(String),
    /// Logging in would not help.
    Failed(String),
}

/// A token that the user has from elsewhere.
struct FixedToken(HeaderValue);

/// Shows a server this token with every request.
pub fn fixed_token(token: &str) -> Result<Box<dyn ServerCredentials>, String> {
    let value = bearer(token).ok_or("its token cannot be sent in a header")?;
    Ok(Box::new(FixedToken(value)))
}

/// The header that shows a token; none if it cannot be written in one.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[async_trait]
impl ServerCredentials for FixedToken {
    async fn header(&self) -> Result<Option<HeaderValue>, NotAdmitted> {
        Ok(Some(self.0.clone()))
    }

    async fn refused(&self, refusal: HttpRefusal) -> Result<HeaderValue, NotAdmitted> {
        let why = format!(
            "it refuses its token with the status {}; check the variable that `token_env` names",
            refusal.status
        );
        Err(NotAdmitted::Failed(why))
    }
}
