//! How a request is serialised: fixed fields, and a list that grows with the conversation.
//!
//! A conversation is sent again with every request, and all of it but the end is as it was. What has
//! been written once is therefore kept as it was written: a request costs what is new in it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use context_manager::{CacheHint, ModelRequest, ToolSpec};
use hyper::body::Bytes;
use net::RequestBody;
use protocol::Message;
use serde_json::{Map, Value};

use crate::growing::Growing;
use crate::turns::{Placed, WireTurn, placed_turns, turns};

/// Turns at the end that are written anew each time, because cache marks move with them.
const FRESH_TURNS: usize = 4;
/// Conversations that are remembered: the one of the user, and those of sub-agents beside it.
const REMEMBERED: usize = 4;

/// The field with the tools, which all providers call the same.
const TOOLS: &str = "tools";

/// How one provider's requests are serialised.
pub(crate) trait Format {
    /// The provider's name in [`protocol::Content::Opaque`].
    const NAME: &'static str;
    /// The field with the conversation. It comes last.
    const LIST: &'static str;

    /// Everything but the tools and the conversation.
    fn frame(&self, request: &ModelRequest) -> Map<String, Value>;

    /// The tools. They are written once for all requests with the same tools that are as worth
    /// keeping and have instructions or none, so nothing else may matter here.
    fn tools(&self, request: &ModelRequest) -> Vec<Value>;

    /// What stands before the conversation in its list.
    fn lead(&self, request: &ModelRequest) -> Option<Value> {
        let _ = request;
        None
    }

    /// A turn as items of the list.
    fn items(&self, turn: &WireTurn<'_>) -> Vec<Value>;

    /// Marks the end of the list. It looks at no more than the last [`FRESH_TURNS`] turns.
    fn mark(&self, request: &ModelRequest, items: &mut [Value]) {
        let _ = (request, items);
    }
}

/// The body of a request.
pub(crate) fn body<F: Format>(format: &F, request: &ModelRequest) -> Value {
    let mut said: Vec<Value> =
        turns(request, F::NAME).iter().flat_map(|turn| format.items(turn)).collect();
    format.mark(request, &mut said);
    let list: Vec<Value> = format.lead(request).into_iter().chain(said).collect();
    let mut body = format.frame(request);
    let tools = format.tools(request);
    if !tools.is_empty() {
        body.insert(TOOLS.into(), tools.into());
    }
    body.insert(F::LIST.into(), list.into());
    body.into()
}

/// The same as it is sent, with the help of what was written before.
pub(crate) fn written_body<F: Format>(
    format: &F,
    request: &ModelRequest,
    written: &WrittenCache,
) -> serde_json::Result<RequestBody> {
    let mut beginning = written.take(request);
    let rest = &request.messages[beginning.messages.len()..];
    let placed = placed_turns(rest, F::NAME, request);
    let (settled, fresh) = placed.split_at(settled(&placed));
    for item in settled.iter().flat_map(|placed| format.items(&placed.turn)) {
        let follows = !beginning.json.is_empty();
        append(&mut beginning.json, &item, follows)?;
    }
    let mut end: Vec<Value> = fresh.iter().flat_map(|placed| format.items(&placed.turn)).collect();
    format.mark(request, &mut end);

    let mut frame = serde_json::to_vec(&format.frame(request))?;
    // The closing brace comes after the list.
    frame.pop();
    let tools = written.tools(format, request)?;
    if !tools.is_empty() {
        frame.extend_from_slice(format!(",\"{TOOLS}\":").as_bytes());
    }
    let mut head = format!(",\"{}\":[", F::LIST).into_bytes();
    let lead = format.lead(request);
    if let Some(lead) = &lead {
        append(&mut head, lead, false)?;
    }
    if lead.is_some() && !beginning.json.is_empty() {
        head.push(b',');
    }
    let mut tail = beginning.json.open().to_vec();
    let mut follows = lead.is_some() || !beginning.json.is_empty();
    for item in &end {
        append(&mut tail, item, follows)?;
        follows = true;
    }
    tail.extend_from_slice(b"]}");

    let mut body = RequestBody::default();
    body.push(frame);
    body.push(tools);
    body.push(head);
    beginning.json.closed().iter().for_each(|piece| body.push(piece.clone()));
    body.push(tail);
    let taken = settled.last().map_or(0, |placed| placed.last + 1);
    beginning.messages.extend_from_slice(&rest[..taken]);
    written.put(beginning);
    Ok(body)
}

/// How many turns will be written in the same way in every later request.
fn settled(placed: &[Placed<'_>]) -> usize {
    let most = placed.len().saturating_sub(FRESH_TURNS);
    // A message that two turns share is not parted.
    let parted = |count: &usize| *count == 0 || placed[*count].first > placed[*count - 1].last;
    (0..=most).rev().find(parted).unwrap_or(0)
}

/// Writes an item of a list; `follows` says whether another stands before it.
fn append(list: &mut impl io::Write, item: &Value, follows: bool) -> serde_json::Result<()> {
    if follows {
        list.write_all(b",").map_err(serde_json::Error::io)?;
    }
    serde_json::to_writer(list, item)
}

/// What was written before and will be sent again: beginnings of conversations, and lists of tools.
/// They are found by the addresses of messages and tools, not by their content. Both are held here, so
/// that no address is used again for something else.
#[derive(Debug, Default)]
pub(crate) struct WrittenCache {
    beginnings: Mutex<Vec<Beginning>>,
    tools: Mutex<Vec<WrittenTools>>,
}

#[derive(Debug)]
struct WrittenTools {
    tools: Arc<[ToolSpec]>,
    cache: CacheHint,
    has_system: bool,
    json: Bytes,
}

#[derive(Debug, Default)]
struct Beginning {
    messages: Vec<Arc<Message>>,
    shows_images: bool,
    /// They decide how a result that tells of tools is written.
    tools: Arc<[ToolSpec]>,
    /// The items of these messages, with commas between them.
    json: Growing,
}

impl WrittenCache {
    /// The longest beginning of the request's messages, which no other request uses until it is put back.
    fn take(&self, request: &ModelRequest) -> Beginning {
        let ModelRequest { messages, tools, shows_images, .. } = request;
        let mut known = self.beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = |beginning: &Beginning| {
            beginning.shows_images == *shows_images
                && Arc::ptr_eq(&beginning.tools, tools)
                && beginning.messages.len() <= messages.len()
                && beginning
                    .messages
                    .iter()
                    .zip(messages)
                    .all(|(one, other)| Arc::ptr_eq(one, other))
        };
        let fitting = known.iter().enumerate().filter(|(_, beginning)| begins(beginning));
        let longest = fitting.max_by_key(|(_, beginning)| beginning.messages.len());
        match longest.map(|(index, _)| index) {
            Some(index) => known.remove(index),
            None => Beginning {
                shows_images: *shows_images,
                tools: Arc::clone(tools),
                ..Beginning::default()
            },
        }
    }

    /// Remembers a beginning; the one that was not used for longest makes room.
    fn put(&self, beginning: Beginning) {
        if beginning.messages.is_empty() {
            return;
        }
        let mut known = self.beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(beginning);
        if known.len() > REMEMBERED {
            known.remove(0);
        }
    }

    /// The list of tools; nothing if there are none.
    fn tools<F: Format>(&self, format: &F, request: &ModelRequest) -> serde_json::Result<Bytes> {
        if request.tools.is_empty() {
            return Ok(Bytes::new());
        }
        let has_system = !request.system.trim().is_empty();
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|one| {
            Arc::ptr_eq(&one.tools, &request.tools)
                && (one.cache, one.has_system) == (request.cache, has_system)
        });
        if let Some(found) = found {
            return Ok(found.json.clone());
        }
        let tools = format.tools(request);
        let json = if tools.is_empty() { Vec::new() } else { serde_json::to_vec(&tools)? };
        let json = Bytes::from(json);
        let tools = Arc::clone(&request.tools);
        known.push(WrittenTools { tools, cache: request.cache, has_system, json: json.clone() });
        if known.len() > REMEMBERED {
            known.remove(0);
        }
        Ok(json)
    }
}

#[cfg(test)]
mod tests;
