//! What a refusal means: from a status, headers and a body to a kind that tells what to do.

mod context_full;

use std::time::Duration;

use context_manager::{ModelError, ModelErrorKind};
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::surrogates;

/// The longest part of a provider's own message that is shown.
const MAX_SHOWN: usize = 400;

/// Codes for "you have used up what you may spend": asking again does not help.
const SPENT: [&str; 3] =
    ["insufficient_quota", "enforced_spend_limit_reached", "billing_hard_limit_reached"];

/// Names for a wrong request that OpenAI also uses for a wrong key and an unknown model: they count
/// only where no status tells more.
const INVALID: [&str; 2] = ["invalid_request_error", "invalid_prompt"];

/// How servers speak of a rate. They ask to "reduce your message size" then, too, but waiting is what
/// helps, or another plan.
const RATE: [&str; 6] =
    ["per minute", "per min (", "per hour", "per day", "rate limit", "too many requests"];

/// A request that is larger than all that may be sent within a minute, however long one waits.
const LARGER_THAN_THE_RATE: &str = "request too large";

/// The error behind a status that is not a success, in every format.
///
/// A date in `retry-after` is compared with the answer's own `date`, so that a wrong clock on
/// either side does no harm.
pub fn error_of(status: u16, headers: &[(String, String)], body: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let told = match surrogates::read_json(&text) {
        Ok(json) => ErrorBody::from(&json),
        Err(_) if is_page(&text) => ErrorBody::default(),
        Err(_) => ErrorBody { message: text.into_owned(), ..ErrorBody::default() },
    };
    let kind = told.kind(status);
    let hopeless = kind == ModelErrorKind::RateLimited && told.is_larger_than_the_rate();
    let message = match one_line(&told.message).as_str() {
        "" => format!("the provider answered with status {status} and no explanation"),
        message => format!("the provider answered with status {status}: {message}"),
    };
    let should_retry = match header(headers, "x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => hopeless.then_some(false),
    };
    let retry_after = retry_after(headers);
    ModelError { retry_after, should_retry, ..ModelError::new(kind, message) }
}

/// An error in the middle of a stream whose status was a success.
pub(crate) fn error_in_stream(event: &Value) -> ModelError {
    let told = ErrorBody::from(event);
    let refused = told.names.iter().any(|name| INVALID.contains(&name.as_str()));
    let otherwise =
        if refused { ModelErrorKind::InvalidRequest } else { ModelErrorKind::Overloaded };
    let kind = told.kind_by_words().unwrap_or(otherwise);
    let message = match one_line(&told.message).as_str() {
        "" => "the provider broke off without an explanation".to_owned(),
        message => format!("the provider broke off: {message}"),
    };
    ModelError::new(kind, message)
}

/// What an error object says. Where it says so differs between servers.
#[derive(Default)]
struct ErrorBody {
    message: String,
    /// What another server said, where a gateway passes that on; OpenRouter does.
    quoted: String,
    /// Names from `type`, `code` and `details.error_code`.
    names: Vec<String>,
    /// A status where a name is expected; OpenRouter does that.
    status: Option<u16>,
}

impl From<&Value> for ErrorBody {
    fn from(body: &Value) -> Self {
        // Gemini sends a list of one.
        let body = body.get(0).unwrap_or(body);
        // FastAPI servers wrap what they have to say in `detail`, a list for several problems.
        let keys = ["error", "detail", "errors"];
        let error = keys.iter().find_map(|key| body.get(*key)).unwrap_or(body);
        let error = error.get(0).unwrap_or(error);
        // Gateways wrap the error of another server as it came.
        let error = error.get("error").filter(|inner| inner.is_object()).unwrap_or(error);
        if let Value::String(message) = error {
            return Self { message: message.clone(), ..Self::default() };
        }
        let messages = [error.get("message"), error.get("msg"), body.get("message")];
        let message = messages.into_iter().flatten().find_map(Value::as_str);
        let code = error.get("code");
        let named = [error.get("type"), code, error.pointer("/details/error_code")];
        let names = named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let quoted = error.pointer("/metadata/raw").and_then(Value::as_str);
        Self {
            message: message.unwrap_or_default().to_owned(),
            quoted: quoted.unwrap_or_default().to_owned(),
            names: names.collect(),
            status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        }
    }
}

impl ErrorBody {
    /// What the words and the status mean together.
    fn kind(&self, status: u16) -> ModelErrorKind {
        use ModelErrorKind::{ContextFull, RateLimited, Unauthorized};
        match (self.kind_by_words(), status) {
            // A message is a weak sign beside a status that is about something else.
            (Some(ContextFull), 401..=404 | 429) if !self.names_full_context() => {
                kind_of_status(status)
            }
            (Some(told @ (RateLimited | Unauthorized)), _) => told,
            (_, 413) if self.speaks_of_a_rate() => RateLimited,
            // A limit on what may be sent at once says the same as a limit on what can be read.
            (_, 413) => ContextFull,
            (told, _) => told.unwrap_or_else(|| kind_of_status(status)),
        }
    }

    fn kind_by_words(&self) -> Option<ModelErrorKind> {
        use ModelErrorKind::{ContextFull, RateLimited, Unauthorized, UnknownModel};
        if self.names_full_context() {
            return Some(ContextFull);
        }
        if self.names.iter().any(|name| SPENT.contains(&name.as_str())) {
            return Some(Unauthorized);
        }
        // The code is more exact than the type, and comes after it.
        match self.names.iter().rev().find_map(|name| kind_of_name(name)) {
            Some(named @ (RateLimited | Unauthorized | UnknownModel)) => Some(named),
            _ if self.says_full_context() => Some(ContextFull),
            Some(named) => Some(named),
            None => self.status.filter(|status| *status >= 400).map(kind_of_status),
        }
    }

    fn names_full_context(&self) -> bool {
        self.names.iter().any(|name| context_full::is_named(name))
    }

    fn says_full_context(&self) -> bool {
        let said = [&self.message, &self.quoted].map(|text| text.to_lowercase());
        !self.speaks_of_a_rate() && said.iter().any(|said| context_full::is_said(said))
    }

    fn speaks_of_a_rate(&self) -> bool {
        let message = self.message.to_lowercase();
        RATE.iter().any(|words| message.contains(words))
    }

    /// Waiting does not help then: the request alone takes more than a minute's share.
    fn is_larger_than_the_rate(&self) -> bool {
        self.message.to_lowercase().contains(LARGER_THAN_THE_RATE)
    }
}

fn kind_of_name(name: &str) -> Option<ModelErrorKind> {
    Some(match name {
        "authentication_error" | "permission_error" | "billing_error" | "invalid_api_key" => {
            ModelErrorKind::Unauthorized
        }
        "not_found_error" | "model_not_found" => ModelErrorKind::UnknownModel,
        "rate_limit_error" | "rate_limit_exceeded" | "ramp_limit_exceeded" => {
            ModelErrorKind::RateLimited
        }
        "api_error" | "overloaded_error" | "timeout_error" | "server_error" => {
            ModelErrorKind::Overloaded
        }
        _ => return None,
    })
}

fn kind_of_status(status: u16) -> ModelErrorKind {
    match status {
        401..=403 => ModelErrorKind::Unauthorized,
        404 => ModelErrorKind::UnknownModel,
        413 => ModelErrorKind::ContextFull,
        429 => ModelErrorKind::RateLimited,
        408 | 409 | 500.. => ModelErrorKind::Overloaded,
        400..=499 => ModelErrorKind::InvalidRequest,
        // Redirections and the like: something other than the API answers at this address.
        _ => ModelErrorKind::Malformed,
    }
}

/// The pages that proxies send are of no use in one line.
fn is_page(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(MAX_SHOWN) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

fn retry_after(headers: &[(String, String)]) -> Option<Duration> {
    let header = |name: &str| header(headers, name);
    let number = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let milliseconds = header("retry-after-ms").and_then(|text| number(text, 0.001));
    milliseconds.or_else(|| {
        let wait = header("retry-after")?;
        number(wait, 1.0).or_else(|| {
            let until = rfc2822::parse(wait).ok()?.timestamp();
            let now = rfc2822::parse(header("date")?).ok()?.timestamp();
            Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
        })
    })
}

#[cfg(test)]
mod tests;
