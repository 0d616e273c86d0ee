//! What of the host is visible inside, and where: pure but for looking at what exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::plan::{Identity, RootStep};
use crate::profile::{Access, Profile, Visible};

/// Directories of the system, taken as they are: directory or link.
const SYSTEM: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// What programs need from `/etc` and what holds no secrets.
const SETTINGS: [&str; 20] = [
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "fonts",
    "java-8-openjdk",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "localtime",
    "maven",
    "mime.types",
    "os-release",
    "pki",
    "services",
    "ssl/ca-bundle.pem",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];

const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Every user may write into the directory, but only the owner of a file may remove it.
const SHARED_MODE: u32 = 0o1777;
const HOME_MODE: u32 = 0o700;

/// Whether something is a link, a directory or a file, or nothing.
pub(crate) trait HostFiles {
    /// Where a link points; nothing if it is not a link.
    fn link(&self, path: &Path) -> Option<PathBuf>;
    fn exists(&self, path: &Path) -> bool;
}

pub(crate) struct RealHost;

impl HostFiles for RealHost {
    fn link(&self, path: &Path) -> Option<PathBuf> {
        std::fs::read_link(path).ok()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }
}

/// The steps that build the root for all commands of a profile, in an order that works: what lies
/// above comes first.
pub(crate) fn steps(profile: &Profile, identity: Identity, host: &impl HostFiles) -> Vec<RootStep> {
    let mut steps = Vec::new();
    for path in SYSTEM.map(Path::new) {
        steps.extend(as_it_is(path, host));
    }
    steps.extend(etc(profile, identity, &SETTINGS, host));
    steps.extend(dev());
    steps.push(RootStep::Proc { path: "/proc".into() });
    steps.push(RootStep::Scratch { path: "/tmp".into(), mode: SHARED_MODE });
    steps.push(RootStep::Link { path: "/var/tmp".into(), target: "/tmp".into() });
    steps.push(RootStep::Link { path: "/run".into(), target: "/tmp".into() });
    if profile.home != Path::new("/tmp") {
        steps.push(RootStep::Scratch { path: profile.home.clone(), mode: HOME_MODE });
    }
    steps.extend(visible(&profile.visible, host));
    steps.extend(certificates(profile).cloned().map(bind));
    steps
}

/// The operator's own certificates, unless they are visible anyway.
fn certificates(profile: &Profile) -> Option<&PathBuf> {
    let settings = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    let shown = profile.visible.iter().map(|one| one.path.clone());
    let mut above = settings.chain(shown).chain([profile.root.clone()]);
    let file = profile.network.certificates.as_ref()?;
    let is_there = is_of_the_system(file) || above.any(|place| file.starts_with(place));
    (!is_there).then_some(file)
}

fn bind(path: PathBuf) -> RootStep {
    RootStep::Bind { source: path.clone(), path, mapped: false }
}

fn as_it_is(path: &Path, host: &impl HostFiles) -> Option<RootStep> {
    if let Some(target) = host.link(path) {
        return Some(RootStep::Link { path: path.to_owned(), target });
    }
    host.exists(path).then(|| bind(path.to_owned()))
}

fn etc(
    profile: &Profile,
    identity: Identity,
    names: &[&str],
    host: &impl HostFiles,
) -> Vec<RootStep> {
    let Identity { uid, gid, .. } = identity;
    let home = profile.home.display();
    let file =
        |name: &str, text: String| RootStep::File { path: Path::new("/etc").join(name), text };
    let mut steps = vec![
        file("passwd", format!("user:x:{uid}:{gid}::{home}:/bin/sh\n")),
        file("group", format!("user:x:{gid}:\n")),
        file("hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n".to_owned()),
        file("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
    ];
    let paths = names.iter().map(|name| Path::new("/etc").join(name));
    steps.extend(paths.filter(|path| host.exists(path)).map(|path| setting(path, host)));
    steps
}

/// A link into the system stays one, which costs less than a mount. Where another leads to may not be
/// visible, so that is shown in its place.
fn setting(path: PathBuf, host: &impl HostFiles) -> RootStep {
    match host.link(&path) {
        Some(target) if is_of_the_system(&from_etc(&target)) => RootStep::Link { path, target },
        _ => bind(path),
    }
}

/// Where a link in `/etc` leads, as far as its text tells.
fn from_etc(target: &Path) -> PathBuf {
    target.strip_prefix("..").map_or_else(|_| target.to_owned(), |rest| Path::new("/").join(rest))
}

fn dev() -> Vec<RootStep> {
    let place = |name: &str| Path::new("/dev").join(name);
    let mut steps: Vec<RootStep> =
        DEVICES.iter().map(|name| RootStep::Device { path: place(name) }).collect();
    let links = [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ];
    steps.extend(
        links.map(|(name, target)| RootStep::Link { path: place(name), target: target.into() }),
    );
    steps.push(RootStep::Scratch { path: place("shm"), mode: SHARED_MODE });
    steps
}

fn visible(all: &[Visible], host: &impl HostFiles) -> Vec<RootStep> {
    let mut sorted: Vec<&Visible> = all.iter().filter(|one| host.exists(&one.path)).collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut shown: BTreeMap<&Path, Access> = BTreeMap::new();
    let mut steps = Vec::new();
    for one in sorted {
        let above = one.path.ancestors().find_map(|above| shown.get_key_value(above));
        let is_there = match above {
            // Within something that is empty it is not there yet.
            Some((path, Access::Empty)) => *path == one.path,
            // Below something that is shown already it is there, or must not be written.
            Some(_) => true,
            None => is_of_the_system(&one.path) && one.access == Access::Read,
        };
        if is_there {
            continue;
        }
        shown.insert(&one.path, one.access);
        let (path, source) = (one.path.clone(), one.path.clone());
        steps.push(match one.access {
            Access::Read => RootStep::Bind { path, source, mapped: true },
            Access::Layer => RootStep::Layer { path, source },
            Access::Empty => RootStep::Scratch { path, mode: HOME_MODE },
        });
    }
    steps
}

/// Whether a path lies in what every command sees.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Directories that hold the system itself or things that are made anew inside, and so cannot be a
/// project.
pub(crate) fn is_reserved(path: &Path) -> bool {
    let made = ["/etc", "/dev", "/proc", "/sys", "/boot", "/run"];
    let whole = ["/", "/tmp", "/var", "/var/tmp", "/home", "/opt", "/mnt", "/srv"];
    is_of_the_system(path)
        || made.iter().any(|place| path.starts_with(place))
        || whole.iter().any(|place| path == Path::new(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Visible;

    /// Paths that exist, with the targets of those that are links.
    struct FakeHost(BTreeMap<PathBuf, Option<PathBuf>>);

    impl HostFiles for FakeHost {
        fn link(&self, path: &Path) -> Option<PathBuf> {
            self.0.get(path).cloned().flatten()
        }

        fn exists(&self, path: &Path) -> bool {
            self.0.contains_key(path)
        }
    }

    fn host(entries: &[(&str, Option<&str>)]) -> FakeHost {
        let entries = entries.iter();
        FakeHost(entries.map(|(path, link)| (path.into(), link.map(Into::into))).collect())
    }

    const IDENTITY: Identity = Identity { uid: 1000, gid: 100, switch: false, map_project: false };

    fn text(steps: &[RootStep]) -> String {
        let lines: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
        lines.join("\n")
    }

    #[test]
    fn only_what_exists_and_is_named_is_shown() {
        let host = host(&[
            ("/usr", None),
            ("/bin", Some("usr/bin")),
            ("/etc/ld.so.cache", None),
            ("/etc/localtime", Some("/usr/share/zoneinfo/Etc/UTC")),
            ("/etc/os-release", Some("../usr/lib/os-release")),
            ("/etc/mime.types", Some("/var/lib/mime.types")),
            ("/etc/shadow", None),
            ("/home/u/.cargo", None),
            ("/home/u/.cargo/bin", None),
            ("/home/u/.cargo/registry", None),
            ("/home/u/.cargo/credentials.toml", None),
            ("/home/u/.ssh", None),
            ("/usr/local/cargo", None),
        ]);
        let mut profile = Profile::new("/home/u/project", "/home/u");
        let visible = |path: &str, access| Visible { path: path.into(), access };
        profile.visible = vec![
            visible("/home/u/.cargo/bin", Access::Read),
            visible("/home/u/.cargo", Access::Empty),
            visible("/home/u/.cargo/registry", Access::Layer),
            visible("/home/u/.missing", Access::Layer),
            visible("/usr/local/cargo", Access::Layer),
            visible("/usr/local", Access::Read),
        ];
        profile.network.certificates = Some("/data/own.pem".into());
        insta::assert_snapshot!(text(&steps(&profile, IDENTITY, &host)), @r#"
        Bind { path: "/usr", source: "/usr", mapped: false }
        Link { path: "/bin", target: "usr/bin" }
        File { path: "/etc/passwd", text: "user:x:1000:100::/home/u:/bin/sh\n" }
        File { path: "/etc/group", text: "user:x:100:\n" }
        File { path: "/etc/hosts", text: "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n" }
        File { path: "/etc/nsswitch.conf", text: "passwd: files\ngroup: files\nhosts: files\n" }
        Bind { path: "/etc/ld.so.cache", source: "/etc/ld.so.cache", mapped: false }
        Link { path: "/etc/localtime", target: "/usr/share/zoneinfo/Etc/UTC" }
        Bind { path: "/etc/mime.types", source: "/etc/mime.types", mapped: false }
        Link { path: "/etc/os-release", target: "../usr/lib/os-release" }
        Device { path: "/dev/null" }
        Device { path: "/dev/zero" }
        Device { path: "/dev/full" }
        Device { path: "/dev/random" }
        Device { path: "/dev/urandom" }
        Link { path: "/dev/fd", target: "/proc/self/fd" }
        Link { path: "/dev/stdin", target: "/proc/self/fd/0" }
        Link { path: "/dev/stdout", target: "/proc/self/fd/1" }
        Link { path: "/dev/stderr", target: "/proc/self/fd/2" }
        Scratch { path: "/dev/shm", mode: 1023 }
        Proc { path: "/proc" }
        Scratch { path: "/tmp", mode: 1023 }
        Link { path: "/var/tmp", target: "/tmp" }
        Link { path: "/run", target: "/tmp" }
        Scratch { path: "/home/u", mode: 448 }
        Scratch { path: "/home/u/.cargo", mode: 448 }
        Bind { path: "/home/u/.cargo/bin", source: "/home/u/.cargo/bin", mapped: true }
        Layer { path: "/home/u/.cargo/registry", source: "/home/u/.cargo/registry" }
        Layer { path: "/usr/local/cargo", source: "/usr/local/cargo" }
        Bind { path: "/data/own.pem", source: "/data/own.pem", mapped: false }
        "#);
    }

    #[test]
    fn the_system_and_shared_places_are_no_projects() {
        for path in ["/", "/usr/src/x", "/etc", "/tmp", "/home", "/proc/1", "/nix/store/a"] {
            assert!(is_reserved(Path::new(path)), "{path}");
        }
        for path in ["/tmp/x", "/home/u/p", "/opt/app", "/var/www", "/data"] {
            assert!(!is_reserved(Path::new(path)), "{path}");
        }
    }
}
