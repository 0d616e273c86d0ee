//! How soon a search knows what was written a moment ago.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::server::grep;
use crate::bench::Effort;
use crate::bench::client::Client;
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, below};

const UPDATE_MS: f64 = 10.0;

/// A file that becomes what it was when this goes away, also its time.
struct Borrowed {
    path: PathBuf,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl Borrowed {
    fn new(path: PathBuf) -> Result<Borrowed> {
        let modified = fs::metadata(&path)?.modified()?;
        let bytes = fs::read(&path)?;
        Ok(Borrowed { path, bytes, modified })
    }

    fn append(&self, line: &str) -> Result<()> {
        let mut file = File::options().append(true).open(&self.path)?;
        Ok(file.write_all(format!("\n{line}\n").as_bytes())?)
    }

    fn restore(&self) -> Result<()> {
        // In place, so that it stays the same file.
        let mut file = File::options().write(true).truncate(true).open(&self.path)?;
        file.write_all(&self.bytes)?;
        Ok(file.set_modified(self.modified)?)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Err(why) = self.restore() {
            println!("{} could not be put back: {why:#}", self.path.display());
        }
    }
}

/// Writes a new word into the file, again and again, and asks for it at once.
pub(crate) fn measure(
    effort: Effort,
    root: &Path,
    file: &str,
    client: &mut Client,
) -> Result<Vec<Verdict>> {
    let rounds = match effort {
        Effort::Full => 21,
        Effort::Quick => 7,
    };
    let borrowed = Borrowed::new(root.join(file)).with_context(|| file.to_owned())?;
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let word = format!("{}{round}_", concat!("toolkiln_", "fresh_"));
        borrowed.append(&word)?;
        times.push(found(client, &word, Some(file))?);
        borrowed.restore()?;
        found(client, &word, None)?;
    }
    let times = Times::new(times);
    println!(
        "search for what was just written into {file}: p50 {:.2} ms, p90 {:.2} ms",
        times.median(),
        times.percentile(90)
    );
    Ok(vec![below("search after an edit, p50", times.median(), UPDATE_MS, "ms")])
}

/// Asks for the word, which must be in that file alone or nowhere.
fn found(client: &mut Client, word: &str, file: Option<&str>) -> Result<Duration> {
    let (answer, time) = client.ask("grep", &grep(word, true))?;
    let (path, total) = (answer["matches"][0]["path"].as_str(), answer["total"].as_u64());
    let expected = if file.is_some() { 1 } else { 0 };
    ensure!(
        path == file && total == Some(expected),
        "`{word}` must be found {expected} times, in {file:?}; the answer is {answer}"
    );
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_borrowed_file_is_given_back_as_it_was() {
        let project = testkit::Fixture::new("");
        project.write("a.c", "int x;");
        let path = project.path("a.c");
        let earlier = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::options().append(true).open(&path).unwrap().set_modified(earlier).unwrap();
        let borrowed = Borrowed::new(path.clone()).unwrap();
        borrowed.append("word").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "int x;\nword\n");
        drop(borrowed);
        assert_eq!(fs::read_to_string(&path).unwrap(), "int x;");
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), earlier);
    }
}
