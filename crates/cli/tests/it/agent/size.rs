//! What a conversation costs before anything has been said.

use testkit::model_server::WireFormat;
use testkit::{ModelServer, Reply};

use super::bench::{Bench, Model};

/// Every request carries the instructions and the tools.
const MOST_BYTES: usize = 16 * 1024;

#[test]
fn the_first_request_is_small() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([Reply::text("Hello.")]);
        let bench = Bench::new("//- /a.txt\na\n");
        assert_eq!(bench.ask(Model { format, server: &server }, "Hi", &[]).code, 0);
        let size = server.calls()[0].body.to_string().len();
        assert!(size < MOST_BYTES, "{format:?}: {size} bytes");
    }
}
