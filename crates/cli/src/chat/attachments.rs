//! What a message mentions, and what the user is told about it.

mod pointed_at;

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
            Some(Ok(found)) => attached.content.push(found),
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
