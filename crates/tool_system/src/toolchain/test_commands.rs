//! Which command runs the tests of a directory. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::project_kind::ManifestDirectory;

// The programs that run tests. This is no documentation, because that would go to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Framework {
    Cargo,
    Go,
    Npm,
    Pytest,
    Unittest,
    Maven,
    Gradle,
    Make,
}

/// What each framework is recognised by, for error messages.
pub(crate) const LOOKED_FOR: &str = "Cargo.toml, go.mod, a test script in package.json, Python tests or \
                                     pyproject.toml, pom.xml, build.gradle, and a Makefile with test or check";

impl Framework {
    const DETECTED: [Framework; 7] = [
        Framework::Cargo,
        Framework::Go,
        Framework::Npm,
        Framework::Pytest,
        Framework::Maven,
        Framework::Gradle,
        Framework::Make,
    ];

    /// The framework of a directory: the one that was asked for, or the first that fits.
    pub(crate) fn of(place: &ManifestDirectory, asked: Option<Framework>) -> Option<Framework> {
        match asked {
            Some(Framework::Unittest) => Some(Framework::Unittest),
            Some(asked) => asked.fits(place).then_some(asked),
            None => Self::DETECTED.into_iter().find(|framework| framework.fits(place)),
        }
    }

    fn fits(self, place: &ManifestDirectory) -> bool {
        let here = &place.manifests;
        match self {
            Framework::Cargo => here.has("Cargo.toml"),
            Framework::Go => here.has("go.mod"),
            Framework::Npm => here.script("test").is_some(),
            Framework::Pytest | Framework::Unittest => here.tests_python(),
            Framework::Maven => here.has("pom.xml"),
            Framework::Gradle => here.first_of(&["build.gradle", "build.gradle.kts"]).is_some(),
            Framework::Make => here.make_target(&["test", "check"]).is_some(),
        }
    }

    /// The program with its arguments.
    pub(crate) fn command(self, place: &ManifestDirectory, filter: Option<&str>) -> Vec<String> {
        let rest = (!place.rest.is_empty()).then_some(place.rest.as_str());
        let mut argv = Argv::default();
        match self {
            Framework::Cargo => {
                argv.all(&["cargo", "test", "--no-fail-fast", "--offline", "--color=never"]);
                argv.option("--test", rest.and_then(integration_test));
                argv.option("--", filter);
            }
            Framework::Go => {
                argv.all(&["go", "test", "-json"]);
                argv.option("-run", filter.map(regex::escape).as_deref());
                argv.one(match rest {
                    None => "./...".to_owned(),
                    Some(file) if file.ends_with(".go") => {
                        format!("./{}", file.rsplit_once('/').map_or("", |(dir, _)| dir))
                    }
                    Some(dir) => format!("./{dir}/..."),
                });
            }
            Framework::Npm => node(place, rest, filter, &mut argv),
            Framework::Pytest => {
                argv.all(&[place.manifests.python(), "-m", "pytest", "-q", "-rfE"]);
                argv.all(&["--color=no", "--tb=short", "-p", "no:cacheprovider"]);
                argv.option("-k", filter);
                argv.option("--", rest);
            }
            Framework::Unittest => {
                argv.all(&[place.manifests.python(), "-m", "unittest"]);
                argv.option("-k", filter);
                argv.extend(rest);
            }
            Framework::Maven => {
                argv.one(if place.manifests.has("mvnw") { "./mvnw" } else { "mvn" });
                argv.all(&["-B", "-o", "test"]);
                argv.extend(filter.map(|filter| format!("-Dtest={filter}")));
            }
            Framework::Gradle => {
                argv.one(if place.manifests.has("gradlew") { "./gradlew" } else { "gradle" });
                argv.all(&["--offline", "--console=plain", "test"]);
                argv.option("--tests", filter.map(|filter| format!("*{filter}*")).as_deref());
            }
            Framework::Make => {
                let target = place.manifests.make_target(&["test", "check"]).unwrap_or("test");
                argv.all(&["make", target]);
            }
        }
        argv.0
    }
}

/// A file in `tests/` is a test program of its name.
fn integration_test(file: &str) -> Option<&str> {
    let name = file.strip_prefix("tests/")?;
    let name = name.strip_suffix("/main.rs").or(name.strip_suffix(".rs"))?;
    (!name.contains('/')).then_some(name)
}

/// A script can run any framework; its text tells how to choose tests by name.
fn node(place: &ManifestDirectory, rest: Option<&str>, filter: Option<&str>, argv: &mut Argv) {
    let manager = place.manifests.node_manager();
    argv.all(&[manager, "run", "test"]);
    let script = place.manifests.script("test").unwrap_or_default();
    let option = if script.contains("mocha") {
        "--grep"
    } else if script.contains("node --test") {
        "--test-name-pattern"
    } else {
        "-t"
    };
    if manager == "npm" && (rest.is_some() || filter.is_some()) {
        argv.one("--");
    }
    argv.option(option, filter);
    argv.extend(rest);
}

#[derive(Default)]
struct Argv(Vec<String>);

impl Argv {
    fn one(&mut self, argument: impl Into<String>) {
        self.0.push(argument.into());
    }

    fn all(&mut self, arguments: &[&str]) {
        self.extend(arguments.iter().copied());
    }

    fn extend<T: Into<String>>(&mut self, arguments: impl IntoIterator<Item = T>) {
        self.0.extend(arguments.into_iter().map(Into::into));
    }

    /// `name` and its value, if there is one.
    fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.all(&[name, value]);
        }
    }
}

#[cfg(test)]
mod tests {
    use workspace::RelPath;

    use super::*;
    use crate::project_kind::Manifests;

    fn place(names: &[&str], package: &str, makefile: &str, rest: &str) -> ManifestDirectory {
        let manifests = Manifests::sketch(names, package, "", makefile);
        ManifestDirectory { directory: RelPath::root(), rest: rest.into(), manifests }
    }

    #[test]
    fn each_project_is_tested_by_its_own_program() {
        let script = |script: &str| format!(r#"{{"scripts": {{"test": "{script}"}}}}"#);
        let (jest, mocha) = (script("jest"), script("mocha spec"));
        let cases: [(ManifestDirectory, Option<&str>, &str); 12] = [
            (
                place(&["Cargo.toml", "Makefile"], "", "test:\n", ""),
                None,
                "cargo test --no-fail-fast --offline --color=never",
            ),
            (
                place(&["Cargo.toml"], "", "", "tests/it/main.rs"),
                Some("adds"),
                "cargo test --no-fail-fast --offline --color=never --test it -- adds",
            ),
            (
                place(&["Cargo.toml"], "", "", "src/lib.rs"),
                None,
                "cargo test --no-fail-fast --offline --color=never",
            ),
            (place(&["go.mod"], "", "", ""), Some("Test.X"), "go test -json -run Test\\.X ./..."),
            (place(&["go.mod"], "", "", "sub/a_test.go"), None, "go test -json ./sub"),
            (place(&["package.json"], &jest, "", ""), None, "npm run test"),
            (
                place(&["package.json", "pnpm-lock.yaml"], &jest, "", "a.test.js"),
                Some("adds"),
                "pnpm run test -t adds a.test.js",
            ),
            (place(&["package.json"], &mocha, "", ""), Some("adds"), "npm run test -- --grep adds"),
            (
                place(&["conftest.py"], "", "", "tests/test_a.py"),
                Some("adds"),
                "python3 -m pytest -q -rfE --color=no --tb=short -p no:cacheprovider -k adds -- tests/test_a.py",
            ),
            (
                place(&["pom.xml", "mvnw"], "", "", ""),
                Some("ShopTest"),
                "./mvnw -B -o test -Dtest=ShopTest",
            ),
            (
                place(&["build.gradle.kts"], "", "", ""),
                Some("Shop"),
                "gradle --offline --console=plain test --tests *Shop*",
            ),
            (place(&["Makefile"], "", "check: all\n", ""), None, "make check"),
        ];
        for (place, filter, expected) in cases {
            let framework = Framework::of(&place, None).unwrap();
            assert_eq!(framework.command(&place, filter).join(" "), expected);
        }
    }

    #[test]
    fn what_was_asked_for_comes_first_if_it_fits() {
        let both = place(&["Cargo.toml", "Makefile"], "", "test:\n", "");
        assert_eq!(Framework::of(&both, Some(Framework::Make)), Some(Framework::Make));
        assert_eq!(Framework::of(&both, Some(Framework::Go)), None);
        assert_eq!(Framework::of(&both, Some(Framework::Unittest)), Some(Framework::Unittest));
        assert_eq!(Framework::of(&place(&["a.txt"], "", "", ""), None), None);
    }
}
