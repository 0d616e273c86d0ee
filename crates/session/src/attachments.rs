//! Files that the user attaches to a message: text as text, images as images.

use context_manager::AgentOptions;
use protocol::{CallReport, Content, ErrorCode, Image, ToolCall, ToolError, visible};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tool_system::extensions::reading::read_file;
use tool_system::{Limits, ToolExecutor, handed_image};

use crate::runtime::text_at;

/// A message with its attachments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    /// What is sent.
    pub content: Vec<Content>,
    /// The images in it, for the user to see that they went along.
    pub images: Vec<Image>,
    /// What the user should know, such as which files could not be read, one line each.
    pub notes: Vec<String>,
}

/// Reads files with the tool that models read them with, so that the same limits hold.
pub async fn with_files(executor: &ToolExecutor, text: String, paths: &[String]) -> Attached {
    let said = Content::Text { text: text.into() };
    let mut attached = Attached { content: vec![said], ..Attached::default() };
    for (number, path) in paths.iter().enumerate() {
        let arguments = Map::from_iter([("path".to_owned(), Value::from(path.as_str()))]);
        let call = ToolCall::new(format!("attached_{number}"), read_file::NAME, arguments);
        let report = executor.report(&call, &CancellationToken::new(), executor.approver()).await;
        attached.add(path, report);
    }
    attached
}

impl Attached {
    /// Attaches a text that the user hands over.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.content.push(Content::attached(visible(name), text));
    }

    /// Attaches images that the user hands over as bytes, within the limits of an answer. Nothing is
    /// attached if one of them cannot be.
    pub fn add_images(
        &mut self,
        images: &[(String, Vec<u8>)],
        limits: &Limits,
    ) -> Result<(), ToolError> {
        let mut handed = Vec::new();
        for (name, bytes) in images {
            let (image, remark) = handed_image(name, bytes, limits)?;
            let remark = remark.map(|remark| format!("{name}: {remark}"));
            handed.push((image, remark));
        }
        let all = || self.images.iter().chain(handed.iter().map(|(image, _)| image));
        let size: u64 = all().map(|image| image.size).sum();
        if all().count() as u64 > limits.answer_images || size > limits.answer_image_bytes {
            let (count, bytes) = (limits.answer_images, limits.answer_image_bytes);
            let message = format!("a message has at most {count} images of {bytes} bytes together");
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest("Send some of them with another message."));
        }
        for (image, remark) in handed {
            self.notes.extend(remark);
            self.content.push(Content::Image(image.clone()));
            self.images.push(image);
        }
        Ok(())
    }

    /// What the user is told, a line each: which images went along, which files did not, and whether
    /// the model sees images at all.
    pub fn told(&self, options: &AgentOptions) -> Vec<String> {
        let images = self.images.iter().map(|image| format!("attached {image}"));
        let mut notes: Vec<String> = images.chain(self.notes.iter().cloned()).collect();
        if !self.images.is_empty() && options.images.is_none() {
            notes.push(format!(
                "{} is not known to see images and gets a description; model.images = true in the \
                 configuration shows them",
                options.model
            ));
        }
        notes
    }

    fn add(&mut self, path: &str, report: CallReport) {
        let value = match report.result {
            Ok(value) => value,
            Err(error) => {
                self.notes.push(format!("{path} is not attached: {}", error.message));
                return;
            }
        };
        let message = text_at(&value, "message");
        if let Some(file) = text_at(&value, "content") {
            let note = message.map(|message| format!("\n[{message}]")).unwrap_or_default();
            self.content.push(Content::attached(path, &format!("{file}{note}")));
        }
        if report.images.is_empty() && value.get("media_type").is_some() {
            let why = message.unwrap_or("it is not text");
            self.notes.push(format!("{path} is attached as a description only: {why}"));
        }
        self.content.extend(report.images.iter().cloned().map(Content::Image));
        self.images.extend(report.images);
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ImageFormat, ImageTokens};

    use super::*;

    #[test]
    fn the_user_is_told_what_went_along_and_what_did_not() {
        let attached = Attached {
            images: vec![Image::new("a.png", ImageFormat::Png, (2, 1), b"png")],
            notes: vec!["b.png is not attached: it does not exist".into()],
            ..Attached::default()
        };
        let options = AgentOptions { model: "small".into(), ..AgentOptions::default() };
        let told = attached.told(&options);
        assert_eq!(
            told,
            [
                "attached a.png (PNG image, 2x1 pixels, 3 bytes)",
                "b.png is not attached: it does not exist",
                "small is not known to see images and gets a description; model.images = true in \
                 the configuration shows them",
            ]
        );
        let seeing =
            AgentOptions { images: Some(ImageTokens::Tiles { base: 85, tile: 170 }), ..options };
        assert_eq!(attached.told(&seeing), told[..2]);
        assert!(Attached::default().told(&AgentOptions::default()).is_empty());
    }
}
