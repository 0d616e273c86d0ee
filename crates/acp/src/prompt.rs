//! What the user says, as an editor sends it: text, images, embedded files and links to files.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use workspace::Workspace;

use crate::wire::invalid;

/// A prompt in parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EditorPrompt {
    /// The words, with what is embedded or linked named where it stands.
    pub(crate) text: String,
    /// Files of the project that are read for it, by their paths from the root.
    pub(crate) files: Vec<String>,
    /// Texts that came along, with their names.
    pub(crate) texts: Vec<(String, String)>,
    /// Images that came along, with their names.
    pub(crate) images: Vec<(String, Vec<u8>)>,
    /// What is not sent, one line each.
    pub(crate) notes: Vec<String>,
}

impl EditorPrompt {
    pub(crate) fn read(blocks: Vec<ContentBlock>, workspace: &Workspace) -> Result<Self, Error> {
        let mut prompt = Self::default();
        for block in blocks {
            prompt.add(block, workspace)?;
        }
        Ok(prompt)
    }

    fn add(&mut self, block: ContentBlock, workspace: &Workspace) -> Result<(), Error> {
        match block {
            ContentBlock::Text(text) => self.text.push_str(&text.text),
            ContentBlock::Image(image) => {
                let name = image.uri.as_deref().map_or_else(
                    || format!("image {}", self.images.len() + 1),
                    |uri| name_of(uri, workspace),
                );
                let bytes = STANDARD.decode(image.data.as_bytes());
                let bytes =
                    bytes.map_err(|error| invalid(format!("{name} is not base64: {error}")))?;
                self.images.push((name, bytes));
            }
            ContentBlock::ResourceLink(link) => match path_in(&link.uri, workspace) {
                Some(path) => {
                    self.text.push_str(&format!("@{path}"));
                    self.files.push(path);
                }
                None => self.text.push_str(&format!("[{}]({})", link.name, link.uri)),
            },
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    let name = name_of(&text.uri, workspace);
                    self.text.push_str(&format!("@{name}"));
                    self.texts.push((name, text.text));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let name = name_of(&blob.uri, workspace);
                    self.text.push_str(&format!("@{name}"));
                    let kind = blob.mime_type.unwrap_or_default();
                    match STANDARD.decode(blob.blob.as_bytes()) {
                        Ok(bytes) if kind.starts_with("image/") => self.images.push((name, bytes)),
                        _ => self.notes.push(format!(
                            "{name} is not attached: it is neither text nor an image"
                        )),
                    }
                }
                _ => self
                    .notes
                    .push("something embedded is not attached: its kind is unknown".into()),
            },
            ContentBlock::Audio(_) => {
                return Err(invalid("audio is not understood: send text, images or files"));
            }
            _ => return Err(invalid("the prompt has a part of a kind that is not understood")),
        }
        Ok(())
    }
}

/// The file of the project that an address means, by its path from the root.
fn path_in(uri: &str, workspace: &Workspace) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = path.split(['#', '?']).next()?;
    let path = decoded(path)?;
    if !path.starts_with('/') {
        return None;
    }
    workspace.resolve(&path).ok().map(|path| path.to_text())
}

/// What a user calls what is at an address.
fn name_of(uri: &str, workspace: &Workspace) -> String {
    let lines = uri.split_once('#').map(|(_, lines)| format!("#{lines}")).unwrap_or_default();
    match path_in(uri, workspace) {
        Some(path) => format!("{path}{lines}"),
        None => uri.to_owned(),
    }
}

/// Bytes that are written as `%20` in an address.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded_and_broken_ones_refused() {
        let table = [
            ("/a%20b/c", Some("/a b/c")),
            ("/%C3%A4", Some("/ä")),
            ("/a%2", None),
            ("/a%zz", None),
            ("/%ff", None),
        ];
        for (text, expected) in table {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
