//! Showing the user a page.

use std::path::Path;

use workspace::{StateDir, find_program, show_in_program};

use crate::environment;

/// Programs that open what they are given in the user's browser.
const BROWSERS: [&str; 2] = ["xdg-open", "open"];

/// Opens a link in the user's browser, or says why not. Other users can read the arguments of a process, so the
/// browser is given a file that only this user can read, in the directory that is open as `states`.
pub(crate) fn show(states: &StateDir, file: &Path, link: &str) -> Result<(), String> {
    let link = escaped(link);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Toolkiln</title>\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Toolkiln</a>\n"
    );
    let programs = environment::variable("PATH").unwrap_or_default();
    let program = find_program(&BROWSERS, programs.as_ref());
    let program = program.ok_or_else(|| format!("none of {} is installed", BROWSERS.join(", ")))?;
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    states
        .replace(name, page.as_bytes())
        .and_then(|()| show_in_program(&program, file))
        .map_err(|error| error.to_string())
}

/// A text inside of an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
