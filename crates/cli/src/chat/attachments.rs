//! What a message mentions, and what the user is told about it.

mod pointed_at;

use context_manager::AgentOptions;
use protocol::Content;
use session::{Attached, with_files};
use tool_system::ToolExecutor;

use pointed_at::pointed_at;
use terminal::mentions;

/// The message with the files, directories and symbols it mentions, each once.
pub(crate) async fn with_mentioned(executor: &ToolExecutor, message: String) -> Attached {
    let mut paths: Vec<String> = Vec::new();
    for mention in mentions(&message) {
        if !paths.iter().any(|path| path == mention.path) {
            paths.push(mention.path.to_owned());
        }
    }
    let mut attached =
        Attached { content: vec![Content::Text { text: message.into() }], ..Attached::default() };
    for path in paths {
        let file = with_files(executor, String::new(), std::slice::from_ref(&path)).await;
        // The first is the text that the file goes with.
        let is_file = file.content.len() > 1;
        match if is_file { None } else { pointed_at(executor, &path).await } {
            Some(Ok(text)) => attached.content.push(Content::Text { text: text.into() }),
            Some(Err(why)) => attached.notes.push(why),
            None => {
                attached.content.extend(file.content.into_iter().skip(1));
                attached.images.extend(file.images);
                attached.notes.extend(file.notes);
            }
        }
    }
    attached
}

/// What the user is told, a line each: which images went along, which files did not, and whether the
/// model sees images at all.
pub(crate) fn notes(attached: &Attached, options: &AgentOptions) -> Vec<String> {
    let images = attached.images.iter().map(|image| format!("attached {image}"));
    let mut notes: Vec<String> = images.chain(attached.notes.iter().cloned()).collect();
    if !attached.images.is_empty() && options.images.is_none() {
        notes.push(format!(
            "{} is not known to see images and gets a description; model.images = true in the \
             configuration shows them",
            options.model
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use protocol::{Image, ImageFormat, ImageTokens};

    use super::*;

    #[test]
    fn the_user_is_told_what_went_along_and_what_did_not() {
        let attached = Attached {
            images: vec![Image::new("a.png", ImageFormat::Png, (2, 1), b"png")],
            notes: vec!["b.png is not attached: it does not exist".into()],
            ..Attached::default()
        };
        let options = AgentOptions { model: "small".into(), ..AgentOptions::default() };
        let told = notes(&attached, &options);
        assert_eq!(
            told,
            [
                "attached a.png (PNG image, 2x1 pixels, 3 bytes)",
                "b.png is not attached: it does not exist",
                "small is not known to see images and gets a description; model.images = true in \
                 the configuration shows them",
            ]
        );
        let seeing = AgentOptions { images: Some(ImageTokens::GPT), ..options };
        assert_eq!(notes(&attached, &seeing), told[..2]);
        assert!(notes(&Attached::default(), &AgentOptions::default()).is_empty());
    }
}
