//! Declares a module for every file under `src/extensions`, and lists the tool that each registers.
//!
//! A tool is one file. Were the modules declared by hand, adding a tool would touch a second file,
//! and a file that is not declared would silently not be a tool at all.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script reads its own sources and talks to cargo through its output"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

const EXTENSIONS: &str = "src/extensions";

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo looks at a directory as a whole, so a file that appears or goes is noticed.
    println!("cargo::rerun-if-changed={EXTENSIONS}");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(EXTENSIONS);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut modules = String::new();
    let mut constructors = String::new();
    for category in sorted_entries(&root)? {
        let category_name = name_of(&category);
        // Paths in an inline module count from a directory of its name, which has to exist.
        let module_dir = out.join(&category_name);
        fs::create_dir_all(&module_dir)?;
        // The category `search` has a tool of that name.
        writeln!(modules, "#[allow(clippy::module_inception)]")?;
        writeln!(modules, "pub mod {category_name} {{")?;
        writeln!(modules, "    //! The tools in `extensions/{category_name}`.")?;
        for file in sorted_entries(&category)? {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let tool = name_of(&file);
                let path = seen_from(&module_dir, &file);
                writeln!(modules, "    #[path = {:?}]\n    pub mod {tool};", path.display())?;
                writeln!(constructors, "    {category_name}::{tool}::registered_tool,")?;
            }
        }
        writeln!(modules, "}}")?;
    }
    let source = format!(
        "{modules}\n/// The constructor of every tool, in path order.\n\
         pub(crate) const REGISTERED: &[fn() -> std::sync::Arc<dyn crate::Tool>] = &[\n{constructors}];\n"
    );
    fs::write(out.join("extensions.rs"), source)?;
    Ok(())
}

/// The way from one directory to a file. Cargo does not run this script again when a checkout is
/// moved together with its `target`, so the modules must not be named by where they once were.
fn seen_from(directory: &Path, file: &Path) -> PathBuf {
    let shared = directory.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(file.components().skip(shared)).collect()
}

fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
