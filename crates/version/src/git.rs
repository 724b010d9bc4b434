//! The commit of a git repository's work tree.

use std::path::Path;
use std::process::Command;

/// The commit that is checked out in `root`, with `+dirty` if tracked files differ from it. `None` if `root` isn't the
/// root of a repository: unpacked sources may be inside of another one.
pub fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if std::fs::canonicalize(top).ok()? != std::fs::canonicalize(root).ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(root, &["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}+dirty") })
}

/// What git prints, if it succeeds.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
