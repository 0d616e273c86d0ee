//! What a conversation costs before anything has been said.

use testkit::model_server::WireFormat;
use testkit::{ModelServer, Reply};

use super::bench::{Bench, Model};

/// Every request carries the instructions and the tools.
const MOST_BYTES: usize = 16 * 1024;

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
    for format in WireFormat::ALL {
        let server = ModelServer::start([Reply::text("Hello.")]);
        let bench = Bench::new(EVERYTHING);
        let message = "Find all TODO comments in this project";
        assert_eq!(bench.ask(Model { format, server: &server }, message, &[]).code, 0);
        let call = &server.calls()[0];
        let standard = tool_system::ToolRegistry::builtin().list(tool_system::Vocabulary::Standard);
        // Where everything is listed, nothing has to be found.
        assert_eq!(call.tools().len(), standard.len() - 1, "{format:?}");
        let size = call.body.to_string().len();
        assert!(size < MOST_BYTES, "{format:?}: {size} bytes");
    }
}
