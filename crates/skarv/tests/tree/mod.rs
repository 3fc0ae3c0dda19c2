//! The files of the repository as the tests of style and documents read them.

// Each test program that includes this module uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

pub struct TreeFile {
    /// Relative to the repository, with `/`.
    pub path: String,
    pub text: String,
}

impl TreeFile {
    pub fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

/// The folders and files at the root of the repository that people write.
const ROOTS: &[&str] = &["crates", "docs", "scripts", "tests", "README.md", "CHANGELOG.md"];

/// What programs write there.
const GENERATED: &[&str] =
    &["target", "corpus", "artifacts", "coverage", "node_modules", "__pycache__"];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every file with one of these extensions, in the order of their paths.
pub fn files(extensions: &[&str]) -> Vec<TreeFile> {
    let root = root();
    let mut files = Vec::new();
    let mut paths: Vec<PathBuf> = ROOTS.iter().map(|name| root.join(name)).collect();
    while let Some(path) = paths.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !GENERATED.contains(&name.as_str()) && !name.starts_with('.') {
                let entries = fs::read_dir(&path).expect("a folder");
                paths.extend(entries.flatten().map(|entry| entry.path()));
            }
        } else if path.extension().is_some_and(|end| extensions.iter().any(|one| end == *one)) {
            let relative = path.strip_prefix(&root).expect("below the root");
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            let text = fs::read_to_string(&path).expect("UTF-8");
            files.push(TreeFile { path: parts.join("/"), text });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!files.is_empty(), "no file with {extensions:?} was found");
    files
}

pub fn fail_if_any(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
