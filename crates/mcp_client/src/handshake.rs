//! The first exchange with a server: which era of the protocol it speaks, and which tools it has.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::http::{NEEDS_LOGIN, NOT_ADMITTED};
use crate::peer::{Lost, Peer, PeerReply};

/// The revision since which every request stands for itself.
pub(crate) const MODERN: &str = "2026-07-28";
/// The last revision with a handshake.
const LEGACY: &str = "2025-11-25";
/// Errors of the modern era: a header that contradicts the body, a capability that is missing, and a
/// revision that is not spoken.
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;
/// How long a server may be silent to the question of the modern era before the other is tried too.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(4);
/// Pages of the list of tools.
const MAX_PAGES: usize = 64;
/// Bytes of all definitions of a server.
const MAX_LIST_BYTES: usize = 8 << 20;

/// How requests to a server are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Era {
    /// Each says which revision it is of and what we can do.
    Modern,
    /// That was said once, in a handshake.
    Legacy,
}

impl Era {
    /// The parameters of a request in this era; metadata that they have already stays.
    pub(crate) fn params(self, params: Value, progress: Option<u64>) -> Value {
        let mut params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        let mut meta = match params.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        if self == Era::Modern {
            meta.insert("io.modelcontextprotocol/protocolVersion".into(), MODERN.into());
            meta.insert("io.modelcontextprotocol/clientCapabilities".into(), capabilities());
            meta.insert("io.modelcontextprotocol/clientInfo".into(), ourselves());
        }
        if let Some(token) = progress {
            meta.insert("progressToken".into(), token.into());
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta));
        }
        Value::Object(params)
    }
}

/// The user can be asked. Nothing else of ours is for servers.
fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

fn ourselves() -> Value {
    json!({"name": "toolkiln", "version": env!("CARGO_PKG_VERSION")})
}

/// Finds out how to talk to the server. `known` is how it was before.
pub(crate) async fn greet(peer: &Arc<Peer>, known: Option<Era>) -> Result<Era, Lost> {
    if known == Some(Era::Legacy) {
        return initialize(peer).await;
    }
    let params = |_| Era::Modern.params(json!({}), None);
    let discovery = peer.request("server/discover", params, false)?.reply();
    tokio::pin!(discovery);
    let patience = tokio::time::sleep(DISCOVERY_PATIENCE);
    tokio::select! {
        reply = &mut discovery => return decided(peer, &reply?).await,
        () = patience => {}
    }
    // It may be slow, or silent to what it does not know.
    let shaking = initialize(peer);
    tokio::pin!(shaking);
    tokio::select! {
        reply = &mut discovery => match is_modern(&reply?) {
            true => Ok(Era::Modern),
            false => shaking.await,
        },
        era = &mut shaking => era,
    }
}

/// What the answer to the first question means. A server that refuses the revision and then offers the
/// very same is asked once more.
async fn decided(peer: &Arc<Peer>, reply: &PeerReply) -> Result<Era, Lost> {
    // These were made here, and another era would not help.
    match reply {
        PeerReply::Error { code: NEEDS_LOGIN, message, .. } => {
            return Err(Lost::NeedsLogin(message.clone()));
        }
        PeerReply::Error { code: NOT_ADMITTED, message, .. } => {
            return Err(Lost::Ended(message.clone()));
        }
        _ => {}
    }
    if let PeerReply::Error { code: UNSUPPORTED_VERSION, .. } = reply
        && is_modern(reply)
    {
        let params = |_| Era::Modern.params(json!({}), None);
        let again = peer.request("server/discover", params, false)?.reply().await?;
        return if is_modern(&again) { Ok(Era::Modern) } else { initialize(peer).await };
    }
    if is_modern(reply) { Ok(Era::Modern) } else { initialize(peer).await }
}

/// Whether a server answers as one of the modern era does: with its revisions, or with an error that no
/// other era has.
fn is_modern(reply: &PeerReply) -> bool {
    let versions = match reply {
        PeerReply::Result(result) => &result["supportedVersions"],
        PeerReply::Error { code: UNSUPPORTED_VERSION, data, .. } => &data["supported"],
        PeerReply::Error { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => return true,
        PeerReply::Error { .. } | PeerReply::TooLong => return false,
    };
    versions.as_array().is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

async fn initialize(peer: &Arc<Peer>) -> Result<Era, Lost> {
    let params = |_| {
        json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities(),
            "clientInfo": ourselves(),
        })
    };
    match peer.request("initialize", params, false)?.reply().await? {
        PeerReply::Result(result) if result["protocolVersion"].is_string() => {
            peer.notify("notifications/initialized", json!({}));
            Ok(Era::Legacy)
        }
        PeerReply::Error { code: NEEDS_LOGIN, message, .. } => Err(Lost::NeedsLogin(message)),
        PeerReply::Error { code: NOT_ADMITTED, message, .. } => Err(Lost::Ended(message)),
        PeerReply::Error { message, .. } => {
            Err(Lost::Ended(format!("it refuses to begin: {}", protocol::visible(&message))))
        }
        _ => Err(Lost::Ended("it does not answer as an MCP server does".to_owned())),
    }
}

/// All tools that the server lists, as it writes them.
pub(crate) async fn list_tools(peer: &Arc<Peer>, era: Era) -> Result<Vec<Value>, Lost> {
    let mut tools = Vec::new();
    let mut cursor: Option<Value> = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let own = cursor.take().map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let reply = peer.request("tools/list", |_| era.params(own, None), false)?.reply().await?;
        let mut result = match reply {
            PeerReply::Result(result) => result,
            PeerReply::TooLong => {
                return Err(Lost::Ended("its list of tools is too long".to_owned()));
            }
            PeerReply::Error { code: NEEDS_LOGIN, message, .. } => {
                return Err(Lost::NeedsLogin(message));
            }
            PeerReply::Error { message, .. } => {
                let message = protocol::visible(&message);
                return Err(Lost::Ended(format!("it does not list its tools: {message}")));
            }
        };
        let Value::Array(page) = result["tools"].take() else {
            return Err(Lost::Ended("it answers without a list of tools".to_owned()));
        };
        bytes += page.iter().map(|tool| tool.to_string().len()).sum::<usize>();
        tools.extend(page);
        if bytes > MAX_LIST_BYTES {
            return Err(Lost::Ended("its list of tools is too long".to_owned()));
        }
        cursor = result.get("nextCursor").filter(|next| next.is_string()).cloned();
        if cursor.is_none() {
            break;
        }
    }
    peer.listed(&tools);
    Ok(tools)
}
