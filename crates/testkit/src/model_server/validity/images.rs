//! Whether a part with an image is one that a provider would take.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Checked, known_fields, require, says_something};

/// Anthropic: `image exceeds 5 MB maximum`, which is counted in Base64.
const MOST_BASE64: usize = 5 * 1024 * 1024;
/// How each of the formats begins that are taken. `RIFF` is followed by a length.
const BEGINNINGS: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

/// A block of the user in Anthropic's messages, or of a result in them.
pub(super) fn anthropic_part(block: &Value) -> Checked {
    match block["type"].as_str() {
        Some("text") => says_something(&block["text"]),
        Some("image") => {
            known_fields(block, &["type", "source", "cache_control"])?;
            let source = &block["source"];
            known_fields(source, &["type", "media_type", "data"])?;
            require(source["type"] == "base64", "an image that is not in Base64")?;
            is_image(text(&source["media_type"]), text(&source["data"]))
        }
        other => Err(format!("a block of {other:?} where text and images can be")),
    }
}

/// A part of the user's message in Chat Completions.
pub(super) fn chat_part(part: &Value) -> Checked {
    match part["type"].as_str() {
        Some("text") => says_something(&part["text"]),
        Some("image_url") => {
            known_fields(part, &["type", "image_url"])?;
            known_fields(&part["image_url"], &["url", "detail"])?;
            is_data_url(&part["image_url"]["url"])
        }
        other => Err(format!("a part of {other:?} in a message")),
    }
}

/// A part of the user's message, or of an output, in Responses.
pub(super) fn responses_part(part: &Value) -> Checked {
    match part["type"].as_str() {
        Some("input_text") => says_something(&part["text"]),
        Some("input_image") => {
            known_fields(part, &["type", "image_url", "detail"])?;
            let detail = text(&part["detail"]);
            require(["auto", "low", "high"].contains(&detail), "an image without its detail")?;
            is_data_url(&part["image_url"])
        }
        other => Err(format!("a part of {other:?} in a message")),
    }
}

fn is_data_url(url: &Value) -> Checked {
    let rest = text(url).strip_prefix("data:").ok_or("an image that is not a data URL")?;
    let (media_type, data) = rest.split_once(";base64,").ok_or("an image not in Base64")?;
    is_image(media_type, data)
}

/// The services decode an image before they take the request.
fn is_image(media_type: &str, data: &str) -> Checked {
    let known = BEGINNINGS.iter().find(|(known, _)| *known == media_type);
    let (_, beginning) = known.ok_or_else(|| format!("{media_type:?} is not taken"))?;
    let bytes = STANDARD.decode(data).map_err(|error| format!("not Base64: {error}"))?;
    require(bytes.starts_with(beginning), format!("the image is not {media_type}"))?;
    require(data.len() <= MOST_BASE64, "image exceeds 5 MB maximum")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_images_that_a_service_takes_pass() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n...");
        let large = STANDARD.encode([b"\x89PNG\r\n\x1a\n", &[0; 4_000_000][..]].concat());
        let table = [
            ("image/png", png.as_str(), true),
            ("image/jpeg", &png, false),
            ("image/bmp", &png, false),
            ("image/png", "%", false),
            ("image/png", "", false),
            ("image/png", &large, false),
        ];
        for (media_type, data, passes) in table {
            let source = json!({"type": "base64", "media_type": media_type, "data": data});
            let block = json!({"type": "image", "source": source});
            let url = format!("data:{media_type};base64,{data}");
            let chat = json!({"type": "image_url", "image_url": {"url": url}});
            let part = json!({"type": "input_image", "image_url": url, "detail": "auto"});
            assert_eq!(anthropic_part(&block).is_ok(), passes);
            assert_eq!(chat_part(&chat).is_ok(), passes);
            assert_eq!(responses_part(&part).is_ok(), passes);
        }
        let remote =
            json!({"type": "input_image", "image_url": "https://x/a.png", "detail": "auto"});
        assert!(responses_part(&remote).is_err());
        let without_detail =
            json!({"type": "input_image", "image_url": format!("data:image/png;base64,{png}")});
        assert!(responses_part(&without_detail).is_err());
    }
}
