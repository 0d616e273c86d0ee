//! Our half of the comparison with the official Python SDKs (`tests/python_sdks.py`).
//!
//! - `sdk_exchange requests` prints request bodies, for the SDKs' types to check;
//! - `sdk_exchange streams` prints the scripted model server's streams, for the SDKs to read;
//! - `sdk_exchange read` reads streams from standard input, each at every chunk border, and prints
//!   the messages they mean.
//!
//! All of it is JSON, one object a line.

// Its output is its purpose.
#![allow(clippy::print_stdout)]

mod conversations;
mod messages;

use std::io::{BufRead as _, Result, Write as _};

use serde_json::{Value, json};
use testkit::model_server::WireFormat;

fn main() -> Result<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    match mode.as_str() {
        "requests" => {
            for line in conversations::requests() {
                writeln!(out, "{line}")?;
            }
        }
        "streams" => {
            for reply in conversations::replies() {
                for format in WireFormat::ALL {
                    let stream = String::from_utf8_lossy(&reply.render(format, 0)).into_owned();
                    writeln!(out, "{}", json!({"api": name_of(format), "stream": stream}))?;
                }
            }
        }
        "read" => {
            for line in std::io::stdin().lock().lines() {
                let task: Value = serde_json::from_str(&line?)?;
                writeln!(out, "{}", messages::read(&task))?;
            }
        }
        _ => println!("usage: sdk_exchange requests|streams|read"),
    }
    Ok(())
}

fn name_of(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Anthropic => "anthropic",
        WireFormat::Chat => "chat",
        WireFormat::Responses => "responses",
    }
}
