//! `toolkiln`: safe, fast hands on a code base for language models.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
