//! Files that the user attaches to a message: text as text, images as images.

use protocol::{CallReport, Content, Image, ToolCall};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tool_system::ToolExecutor;
use tool_system::extensions::reading::read_file;

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
            let mut text = format!("The user attached {path}:\n{file}");
            if let Some(message) = message {
                text = format!("{text}\n[{message}]");
            }
            self.content.push(Content::Text { text: text.into() });
        }
        if report.images.is_empty() && value.get("media_type").is_some() {
            let why = message.unwrap_or("it is not text");
            self.notes.push(format!("{path} is attached as a description only: {why}"));
        }
        self.content.extend(report.images.iter().cloned().map(Content::Image));
        self.images.extend(report.images);
    }
}
