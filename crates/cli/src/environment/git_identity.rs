//! Who commits: confined git does not see the user's own configuration, so name and address are told.

use std::collections::BTreeMap;
use std::path::Path;

use workspace::Workspace;

/// A configuration file larger than this is not looked into.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The variables that git takes name and address from.
const VARIABLES: [(&str, [&str; 2]); 2] = [
    ("name", ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]),
    ("email", ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]),
];

/// Variables with the identity in the user's configuration. A project that has one of its own keeps
/// it, because variables would stand above it.
pub(crate) fn variables(project: &Workspace, home: &Path) -> BTreeMap<String, String> {
    let own = read(project, ".git/config").map(|text| user(&text)).unwrap_or_default();
    let home = Workspace::open(home).ok();
    let files = [".config/git/config", ".gitconfig"];
    let texts = files.iter().filter_map(|name| read(home.as_ref()?, name));
    let mut global = BTreeMap::new();
    texts.for_each(|text| global.extend(user(&text)));
    let set = VARIABLES.iter().filter(|(key, _)| !own.contains_key(*key));
    let pairs = set.flat_map(|(key, names)| {
        let value = global.get(*key).cloned();
        names.iter().filter_map(move |name| Some(((*name).to_owned(), value.clone()?)))
    });
    pairs.collect()
}

fn read(directory: &Workspace, name: &str) -> Option<String> {
    let path = directory.resolve(name).ok()?;
    let bytes = directory.open_file(&path).ok()?.read_all(MAX_FILE_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// The keys of the section `[user]`. Files that are included are not followed.
fn user(config: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut inside = false;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            inside = section.trim_end_matches(']').trim().eq_ignore_ascii_case("user");
        } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
            let value = value.trim().trim_matches('"');
            found.insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    #[test]
    fn the_user_commits_as_himself_unless_the_project_says_otherwise() {
        let home = Fixture::new(
            "//- /.gitconfig\n[core]\n\tname = no\n[user]\n\tname = \"Ada L\"\n\temail = ada@example.org\n",
        );
        let plain = Fixture::new("//- /a.txt\nx\n");
        let found = variables(&Workspace::open(plain.root()).unwrap(), home.root());
        assert_eq!(found["GIT_AUTHOR_NAME"], "Ada L");
        assert_eq!((found["GIT_COMMITTER_EMAIL"].as_str(), found.len()), ("ada@example.org", 4));
        let own = Fixture::new("//- /.git/config\n[User]\nEmail = work@example.org\n");
        let found = variables(&Workspace::open(own.root()).unwrap(), home.root());
        assert!(!found.contains_key("GIT_AUTHOR_EMAIL") && found.contains_key("GIT_AUTHOR_NAME"));
    }
}
