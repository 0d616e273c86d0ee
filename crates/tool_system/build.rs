//! Declares a module for every file under `src/extensions`, and lists the tool that each registers.
//!
//! A tool is one file. Were the modules declared by hand, adding a tool would touch a second file,
//! and a file that nobody declared would silently be no tool at all.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script reads its own sources and talks to cargo through its output"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const EXTENSIONS: &str = "src/extensions";

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo looks at a directory as a whole, so a file that appears or goes is noticed.
    println!("cargo::rerun-if-changed={EXTENSIONS}");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(EXTENSIONS);
    let mut modules = String::new();
    let mut constructors = String::new();
    for category in sorted_entries(&root)? {
        let category_name = name_of(&category);
        writeln!(modules, "pub mod {category_name} {{")?;
        writeln!(modules, "    //! The tools in `extensions/{category_name}`.")?;
        for file in sorted_entries(&category)? {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let tool = name_of(&file);
                writeln!(modules, "    #[path = {:?}]\n    pub mod {tool};", file.display())?;
                writeln!(constructors, "    {category_name}::{tool}::registered_tool,")?;
            }
        }
        writeln!(modules, "}}")?;
    }
    let source = format!(
        "{modules}\n/// The constructor of every tool, in path order.\n\
         pub(crate) const REGISTERED: &[fn() -> std::sync::Arc<dyn crate::Tool>] = &[\n{constructors}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("extensions.rs"), source)?;
    Ok(())
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
