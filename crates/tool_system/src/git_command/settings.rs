//! Settings that override those of the repository, so that none of its programs runs. Pure.

/// What every command is told.
pub(super) const SETTINGS: [(&str, &str); 30] = [
    ("commit.gpgSign", "false"),
    ("core.alternateRefsCommand", "true"),
    ("core.askPass", "true"),
    // Both as git has them: a file of the same size and time would else count as unchanged.
    ("core.checkStat", "default"),
    ("core.editor", "true"),
    ("core.fsmonitor", "false"),
    ("core.gitProxy", "none"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("core.splitIndex", "false"),
    ("core.sshCommand", "ssh"),
    ("core.trustctime", "true"),
    ("core.untrackedCache", "false"),
    // Empties the list of all helpers that were named before.
    ("credential.helper", ""),
    ("diff.external", ""),
    // To see whether a repository within this one is changed, git would run in it, with its configuration.
    ("diff.ignoreSubmodules", "dirty"),
    ("gc.auto", "0"),
    ("i18n.commitEncoding", "utf-8"),
    ("log.showRoot", "true"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("safe.bareRepository", "explicit"),
    ("sequence.editor", "true"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// The settings that take the programs out of those a repository has, by the names of these.
pub(super) fn overrides<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(String, &'static str)> {
    let mut settings: Vec<_> = names.flat_map(override_of).collect();
    settings.sort();
    settings.dedup();
    settings
}

/// A setting has a section, a name within it, which may hold anything, and a key.
fn override_of(name: &str) -> Option<(String, &'static str)> {
    let (section, rest) = name.split_once('.')?;
    let (within, key) = rest.rsplit_once('.').map_or((None, rest), |(w, key)| (Some(w), key));
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    let value = match (section.as_str(), within, key.as_str()) {
        ("filter", _, "clean" | "smudge" | "process") => "",
        ("filter", _, "required") => "false",
        ("diff", Some(_), "command" | "textconv") => "",
        ("merge", Some(_), "driver") => "false",
        ("gpg", _, "program" | "defaultkeycommand") => "false",
        ("trailer", Some(_), "command" | "cmd") => "",
        ("http", Some(_), "proxy") | ("remote", Some(_), "proxy") => "",
        ("http", Some(_), "sslverify") => "true",
        ("remote", Some(_), "receivepack") => "git-receive-pack",
        ("remote", Some(_), "uploadpack") => "git-upload-pack",
        // No program is called so, and the command fails.
        ("remote", Some(_), "vcs") => "",
        ("hook", Some(hook), _) => return Some((format!("hook.{hook}.enabled"), "false")),
        _ => return None,
    };
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_names_a_program_is_taken_back_whatever_it_is_called() {
        let cases = [
            ("filter.lfs.clean", "filter.lfs.clean="),
            ("filter.a=b.c.process", "filter.a=b.c.process="),
            ("filter.x.required", "filter.x.required=false"),
            ("FILTER.X.Smudge", "FILTER.X.Smudge="),
            ("diff.word.textconv", "diff.word.textconv="),
            ("gpg.ssh.program", "gpg.ssh.program=false"),
            ("gpg.program", "gpg.program=false"),
            ("hook.x.command", "hook.x.enabled=false"),
            ("remote.origin.receivepack", "remote.origin.receivepack=git-receive-pack"),
            ("http.https://h/.sslverify", "http.https://h/.sslverify=true"),
        ];
        for (name, expected) in cases {
            let made = overrides([name].into_iter());
            let made: Vec<_> = made.iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(made, [expected], "{name}");
        }
        for name in ["user.name", "branch.main.merge", "core.bare", "diff.algorithm", "x"] {
            assert!(overrides([name].into_iter()).is_empty(), "{name}");
        }
    }
}
