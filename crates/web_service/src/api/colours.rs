//! Code in its colours.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::colours::{LineSpans, text_spans};
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};

/// Bytes of a text that is coloured.
const MOST_CODE: usize = 64 * 1024;
/// In JSON a character may take six bytes for one.
const CODE_BODY: usize = 6 * MOST_CODE + 1024;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/highlight",
            Need::Login,
            "The spans of each line of a code, such as a code block of an answer.",
            colour,
        )
        .up_to(CODE_BODY),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CodeBody {
    /// The word after a code fence, or the path of a file.
    #[serde(default)]
    language: String,
    /// At most 65,536 bytes.
    text: String,
}

/// Code in its colours.
#[derive(Debug, Serialize, JsonSchema)]
struct ColouredCode {
    /// For each line, `[length, kind]` from its beginning, in UTF-16 units.
    lines: Vec<LineSpans>,
}

async fn colour(request: Request<Nothing, CodeBody>) -> Result<ColouredCode, ApiError> {
    let CodeBody { language, text } = request.body;
    if text.len() > MOST_CODE {
        return Err(ApiError::too_large(MOST_CODE));
    }
    let app = request.app;
    let colouring = move || {
        let lines: Vec<&str> = text.split('\n').collect();
        text_spans(&app.colours, &language, &lines)
    };
    Ok(ColouredCode { lines: blocking(colouring).await? })
}

/// Work that keeps a processor busy, where it holds up no other request.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ApiError::internal(error.to_string()))
}
