//! Whether the right files come first: questions about Toolkiln's own sources and about a small
//! foreign project, measured beside plain counting of words.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::Fixture;
use workspace::Workspace;

use super::*;
use crate::FileFilter;

/// A question and the files of which one is the right answer.
type Asked = (&'static str, &'static [&'static str]);

/// Words and identifiers, as a model types them into `search`.
const WORDS: &[Asked] = &[
    ("ToolExecutor", &["tool_system/src/execution/executor.rs"]),
    ("execute_tool", &["tool_system/src/execution/executor.rs"]),
    ("RelPath", &["workspace/src/rel_path.rs"]),
    ("fileFilter", &["code_index/src/file_filter.rs"]),
    ("find-files", &["code_index/src/file_search.rs"]),
    ("ErrorCode", &["protocol/src/error.rs"]),
    (
        "undo redo",
        &[
            "tool_system/src/changes/undoing.rs",
            "tool_system/src/extensions/management/undo.rs",
            "tool_system/src/extensions/management/redo.rs",
            "workspace/src/journal/undo.rs",
        ],
    ),
    ("gitignore rules", &["workspace/src/ignore_rules.rs"]),
    ("walk options", &["workspace/src/walk.rs"]),
    ("BoundedReader", &["code_index/src/text_search/bounded_reader.rs"]),
    ("approval gate", &["tool_system/src/execution/approval_gate.rs"]),
    ("vocabulary face", &["tool_system/src/registration/face.rs"]),
    ("Limits", &["tool_system/src/limits.rs"]),
    ("json schema generation", &["tool_system/src/registration/schema.rs"]),
    ("replace_in_file", &["tool_system/src/extensions/writing/replace_in_file.rs"]),
    ("activity stream", &["tool_system/src/execution/activity.rs"]),
    ("line endings", &["workspace/src/text/lines.rs"]),
    ("stdio transport", &["mcp/src/transport.rs"]),
    ("PatternError", &["code_index/src/pattern.rs"]),
    ("token estimate", &["protocol/src/tokens.rs"]),
];

/// Everyday questions, as they are put to `search_code`.
const QUESTIONS: &[Asked] = &[
    ("where are the limits of all tools defined?", &["tool_system/src/limits.rs"]),
    ("how is a path resolved beneath the root", &["workspace/src/resolve.rs"]),
    ("which encoding does a text file have", &["workspace/src/text/encoding.rs"]),
    ("how do we detect binary files", &["workspace/src/binary.rs"]),
    (
        "where are tool arguments validated against the schema",
        &["tool_system/src/registration/validator.rs"],
    ),
    (
        "cut results that are too large and keep the rest behind a handle",
        &["tool_system/src/answers/truncation.rs", "tool_system/src/answers/result_store.rs"],
    ),
    ("ask the user for approval in the terminal", &["cli/src/terminal.rs"]),
    ("remove a file", &["tool_system/src/extensions/management/delete_file.rs"]),
    (
        "list the entries of a folder",
        &["tool_system/src/extensions/search/list_directory.rs", "workspace/src/list.rs"],
    ),
    (
        "recover the journal after a crash",
        &[
            "workspace/src/journal/recover.rs",
            "workspace/src/journal/recovery.rs",
            "workspace/src/journal.rs",
        ],
    ),
    ("suggest similar file names", &["workspace/src/similar.rs"]),
    ("compute a unified diff", &["protocol/src/diff.rs", "protocol/src/diff/unified.rs"]),
    (
        "which role may use which permission",
        &["protocol/src/permission.rs", "protocol/src/role.rs"],
    ),
    ("read environment and configuration files", &["cli/src/config.rs", "cli/src/environment.rs"]),
    ("send progress notifications to the mcp client", &["mcp/src/progress.rs"]),
    ("where is the command line parsed", &["cli/src/args.rs"]),
    ("make a hash of file contents", &["protocol/src/hash.rs"]),
    ("show a change as colored diff in the terminal", &["cli/src/diff_view.rs"]),
    ("duplicate keys in strict json parsing", &["protocol/src/json.rs"]),
    ("rename or move a file", &["tool_system/src/extensions/management/move_file.rs"]),
];

const PROJECT: &str = "
//- /src/auth/session.py
class SessionStore:
    def create_session(self, user):
        return self.backend.insert(user.id)

    def destroy(self, token):
        self.backend.remove(token)
//- /src/auth/login.py
from .session import SessionStore

def authenticate(name, password):
    user = find_user(name)
    if not verify_password(user, password):
        raise InvalidCredentials(name)
    return SessionStore().create_session(user)
//- /src/users.py
# Users and their accounts. A user has a name, a user id and a user role.
class User:
    def delete_account(self):
        self.db.execute('DELETE FROM users WHERE id = ?', self.id)

def find_user(name):
    return User.query(name=name)
//- /src/mail.js
export function sendMail(recipient, subject, body) {
  return transport.deliver({ to: recipient, subject, body });
}
//- /src/retry.go
func WithBackoff(attempts int, f func() error) error {
	for i := 0; i < attempts; i++ {
		if err := f(); err == nil { return nil }
		time.Sleep(delay(i))
	}
	return errTooManyAttempts
}
//- /src/http_server.go
// Every request of a user is logged: user name, user id, password never.
func (s *HTTPServer) handleRequest(w http.ResponseWriter, r *http.Request) {
	s.log(r.User, r.User.Name, r.User.Id)
}
//- /tests/test_login.py
def test_authenticate_user():
    assert authenticate('user', 'password')
    assert authenticate('user', 'password').user == 'user'
//- /vendor/auth/login.py
def login(user, password):
    return authenticate(user, password)
//- /README.md
Users log in with name and password. See login. A session is created for each user login.
";

const PROJECT_WORDS: &[Asked] = &[
    ("authenticate", &["src/auth/login.py"]),
    ("sendMail", &["src/mail.js"]),
    ("send_mail", &["src/mail.js"]),
    ("http server", &["src/http_server.go"]),
    ("SessionStore", &["src/auth/session.py"]),
    ("user", &["src/users.py"]),
];

const PROJECT_QUESTIONS: &[Asked] = &[
    ("where does a user sign in with a password?", &["src/auth/login.py"]),
    ("how do we remove a user's account", &["src/users.py"]),
    ("repeat with backoff after a failure", &["src/retry.go"]),
    ("emit an e-mail message to a recipient", &["src/mail.js"]),
    ("make a session", &["src/auth/session.py"]),
];

/// Without this file, which has every question word for word.
fn filter() -> FileFilter {
    let include = ["**/src/**/*.{rs,py,js,go}", "*.{py,md}", "!quality.rs"].map(str::to_owned);
    FileFilter::new(&include, &[], &[]).unwrap()
}

fn scope() -> SearchScope {
    SearchScope {
        start: RelPath::root(),
        filter: filter(),
        hidden: false,
        max_depth: 32,
        max_entries: 100_000,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: 10,
        max_file_bytes: 1024 * 1024,
        file_time: Duration::from_secs(60),
    }
}

fn ranked(code: &CodeBase, query: &str, natural: bool) -> Vec<String> {
    let query = RankedQuery {
        text: query.into(),
        natural,
        snippet_lines: 5,
        max_line_chars: 200,
        weights: RankingWeights::default(),
    };
    let found = search_ranked(code, &query, &scope(), &|| false).unwrap();
    found.files.iter().map(|file| file.path.to_text()).collect()
}

/// The files by how often they have the words of the query.
fn counted(files: &[(String, String)], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
    let mut found: Vec<(usize, &String)> = files
        .iter()
        .map(|(path, text)| (words.iter().map(|word| text.matches(word).count()).sum(), path))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.into_iter().take(10).map(|(_, path)| path.clone()).collect()
}

/// One over the place of the first right answer, 0 if it is not among the first ten.
fn reciprocal_rank(found: &[String], right: &[&str]) -> f32 {
    let is_right = |path: &String| right.iter().any(|right| path.ends_with(right));
    found.iter().position(is_right).map_or(0.0, |place| 1.0 / (place as f32 + 1.0))
}

struct Measured {
    ours: f32,
    counting: f32,
    /// The share of questions whose answer is among the first three.
    first_three: f32,
    misses: Vec<String>,
}

fn measure(root: &Path, asked: &[Asked], natural: bool) -> Measured {
    let code = CodeBase::new(Arc::new(Workspace::open(root).unwrap()));
    let files = all_texts(&code, root);
    let mut measured = Measured { ours: 0.0, counting: 0.0, first_three: 0.0, misses: Vec::new() };
    for (query, right) in asked {
        let found = ranked(&code, query, natural);
        let rank = reciprocal_rank(&found, right);
        measured.ours += rank;
        measured.counting += reciprocal_rank(&counted(&files, query), right);
        measured.first_three += f32::from(u8::from(rank > 0.3));
        if rank < 1.0 {
            measured.misses.push(format!("{rank:.2} {query}: {:?}", &found[..found.len().min(4)]));
        }
    }
    let count = asked.len() as f32;
    measured.ours /= count;
    measured.counting /= count;
    measured.first_three /= count;
    measured
}

fn all_texts(code: &CodeBase, root: &Path) -> Vec<(String, String)> {
    let query = crate::FileQuery::default();
    let scope = SearchScope { max_results: 100_000, ..scope() };
    let found = crate::find_files(code, &query, &scope, &|| false).unwrap();
    let read = |path: &RelPath| {
        let file = code.workspace().open_file(path).unwrap();
        String::from_utf8_lossy(&text_of(file, u64::MAX).unwrap()).to_lowercase()
    };
    assert!(!found.files.is_empty(), "{}", root.display());
    found.files.iter().map(|file| (file.path.to_text(), read(&file.path))).collect()
}

/// Measures questions about this repository. The floors leave room for the sources to change.
fn measure_own(asked: &[Asked], natural: bool, floor: f32, floor_of_three: f32) {
    let crates: PathBuf = [env!("CARGO_MANIFEST_DIR"), ".."].iter().collect();
    let Measured { ours, counting, first_three, misses } = measure(&crates, asked, natural);
    let report = format!(
        "mean reciprocal rank {ours:.3}, counting words {counting:.3}, among the first three \
         {first_three:.2}, not first:\n{}",
        misses.join("\n")
    );
    assert!(ours >= floor && first_three >= floor_of_three && ours > 1.3 * counting, "{report}");
}

#[test]
fn words_and_identifiers_lead_to_the_right_files_of_this_repository() {
    measure_own(WORDS, false, 0.85, 0.9);
}

#[test]
fn questions_lead_to_the_right_files_of_this_repository() {
    measure_own(QUESTIONS, true, 0.7, 0.8);
}

#[test]
fn the_right_files_of_a_foreign_project_come_first() {
    let project = Fixture::new(PROJECT);
    for (asked, natural) in [(PROJECT_WORDS, false), (PROJECT_QUESTIONS, true)] {
        let Measured { ours, counting, misses, .. } = measure(project.root(), asked, natural);
        assert!(ours > 0.95 && ours > counting, "{ours} {counting}\n{}", misses.join("\n"));
    }
}
