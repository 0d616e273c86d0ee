//! Answers in encodings that the request did not ask for.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use insta::assert_snapshot;
use providers::Api;
use serde_json::json;
use testkit::{Fault, ModelServer, Reply};

use crate::talk::{format, plain, provider, told};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bare(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn encoded(status: u16, encoding: &str, body: Vec<u8>) -> Reply {
    Reply::fault(Fault::Encoded { status, encoding: encoding.to_owned(), body })
}

#[tokio::test]
async fn compressed_answers_are_read_in_pieces_of_any_size() {
    let said = Reply::text("I look 🦀. ").and_call("grep", json!({"pattern": "x"}));
    for api in Api::ALL {
        let stream = said.render(format(api), 0);
        let plainly = told(&provider(api, &ModelServer::start([said.clone()]))).await;
        for size in [1, 7, 100_000] {
            let replies =
                [("gzip", gzip(&stream)), ("deflate", zlib(&stream)), ("deflate", bare(&stream))];
            let replies = replies.map(|(encoding, body)| encoded(200, encoding, body));
            let server = ModelServer::start(replies).in_pieces_of(size);
            let provider = provider(api, &server);
            for _ in 0..3 {
                assert_eq!(told(&provider).await, plainly, "{api:?} in pieces of {size}");
            }
        }
    }
}

#[tokio::test]
async fn a_compressed_refusal_says_why() {
    let body = br#"{"error":{"message":"because","code":"context_length_exceeded"}}"#;
    let server = ModelServer::start([encoded(400, "gzip", gzip(body))]);
    let told = told(&provider(Api::OpenAiChat, &server)).await;
    assert_eq!(told, "ContextFull: scripted answered with status 400: because");
}

#[tokio::test]
async fn what_cannot_be_read_is_told_as_what_it_is() {
    let mut bomb = b": ".to_vec();
    bomb.resize(65 * 1024 * 1024, b' ');
    let cases = [
        ("br", b"whatever".to_vec()),
        ("zstd", b"whatever".to_vec()),
        ("gzip", b"data: [DONE]\n\n".to_vec()),
        ("gzip", gzip(&bomb)),
        ("gzip", gzip(b"data: {}\n\n")[..15].to_vec()),
    ];
    let mut shown = Vec::new();
    for (encoding, body) in cases {
        let server = ModelServer::start([encoded(200, encoding, body)]);
        let config = crate::talk::config(Api::OpenAiChat, &server.base_url());
        let provider = providers::HttpProvider::new(config).unwrap();
        shown.push(plain(&told(&provider).await, Api::OpenAiChat, &server));
    }
    assert_snapshot!(shown.join("\n"), @"
    Malformed: scripted sent its answer in the encoding `br`, which was not asked for; only gzip and deflate are understood; check that http://ADDRESS/v1 speaks API
    Malformed: scripted sent its answer in the encoding `zstd`, which was not asked for; only gzip and deflate are understood; check that http://ADDRESS/v1 speaks API
    Malformed: scripted: the answer is compressed, and cannot be read: invalid gzip header; check that http://ADDRESS/v1 speaks API
    Malformed: scripted: one event of the answer is larger than 16777216 bytes; check that http://ADDRESS/v1 speaks API
    Cut: scripted: the answer ended before it was complete
    ");
}
