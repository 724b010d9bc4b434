//! The git commit that this binary was built from. A crate that nothing else is in, because whatever depends on it is
//! compiled again after a commit.

#[cfg(test)]
mod git;

/// The commit, with `+dirty` if files were changed; `unknown` in a debug build or outside a repository. Builds without
/// git take it from the variable `RAWLINE_COMMIT`.
pub const COMMIT: &str = env!("RAWLINE_COMMIT");

#[cfg(test)]
mod tests {
    use super::git::commit;
    use std::path::Path;
    use std::process::Command;

    fn git(root: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(root).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    #[test]
    fn a_commit_is_that_of_the_work_tree_itself() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(commit(root), None);
        git(root, &["init", "--quiet"]);
        assert_eq!(commit(root), None, "there is no commit yet");
        std::fs::write(root.join("file"), "a").unwrap();
        git(root, &["add", "file"]);
        git(root, &["commit", "--quiet", "--message", "first"]);
        let clean = commit(root).unwrap();
        assert!(clean.len() >= 12 && clean.bytes().all(|byte| byte.is_ascii_hexdigit()), "{clean}");
        std::fs::write(root.join("file"), "b").unwrap();
        assert_eq!(commit(root), Some(format!("{clean}+dirty")));
        // Unpacked sources in a repository of another project.
        let inner = root.join("rawline");
        std::fs::create_dir(&inner).unwrap();
        assert_eq!(commit(&inner), None);
    }
}
