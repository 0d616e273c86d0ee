//! What a conversation costs before anything has been said.

use serde_json::Value;
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fixture, ModelServer, Reply};
use tool_system::{Category, ToolRegistry, Vocabulary};

use super::bench::{Bench, Model};
use crate::run::finish;

/// Every request carries the instructions and the tools.
const MOST_BYTES: usize = 16 * 1024;
/// What the web tools add for users who allow the network.
const WEB_BYTES: usize = 1024;
/// Tools that a failure names; most of the bytes are theirs.
const SHOWN_TOOLS: usize = 8;

/// A project in which every tool has something to do.
pub(super) const EVERYTHING: &str = "\
//- /.git/HEAD
ref: refs/heads/main
//- /Cargo.toml
[package]
name = \"shop\"
version = \"1.0.0\"
";

#[test]
fn the_first_request_is_small() {
    // Without the network there are no web tools.
    for (network, most) in [(false, MOST_BYTES), (true, MOST_BYTES + WEB_BYTES)] {
        for format in WireFormat::ALL {
            let server = ModelServer::start([Reply::text("Hello.")]);
            let bench = Bench::new(EVERYTHING);
            let message = "Find all TODO comments in this project";
            let settings = format!("//- /toolkiln/config.toml\n[tools]\nnetwork = {network}\n");
            let config = Fixture::new(&settings);
            let mut command = bench.asking(Model { format, server: &server }, message);
            assert_eq!(finish(command.env("XDG_CONFIG_HOME", config.root())).code, 0);
            let call = &server.calls()[0];
            let mut standard = ToolRegistry::builtin().list(Vocabulary::Standard);
            standard.retain(|tool| network || tool.definition().category != Category::Web);
            // Where everything is listed, nothing has to be found.
            assert_eq!(call.tools().len(), standard.len() - 1, "{format:?}");
            let size = call.body.to_string().len();
            assert!(size < most, "{format:?}: {size} bytes; shorten: {}", longest_tools(call));
        }
    }
}

/// Where words can be saved, for whoever adds a tool to a list that is full.
pub(super) fn longest_tools(call: &ModelCall) -> String {
    let tools = call.body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| {
        tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned)
    };
    let mut sizes: Vec<_> =
        tools.map(|tool| (tool.to_string().len(), name(tool).unwrap_or_default())).collect();
    sizes.sort_by(|one, other| other.cmp(one));
    let shown =
        sizes.iter().take(SHOWN_TOOLS).map(|(bytes, name)| format!("{name} ({bytes} bytes)"));
    shown.collect::<Vec<_>>().join(", ")
}
