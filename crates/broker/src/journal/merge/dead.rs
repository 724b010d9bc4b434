//! The collector's findings: garbage that only a merge can free.

use rawline_journal::SparseFile;
use std::ops::Range;
use std::sync::Arc;

/// Garbage that only a merge can free.
#[derive(Debug, Clone, Default)]
pub(in crate::journal) struct Dead {
    /// The numbers of the objects in mostly dead files, in ascending order.
    pub files: Arc<[Range<u64>]>,
    /// How often something was found.
    pub found: u64,
}

impl Dead {
    /// Records the current findings: files to which nothing is appended any more, and perhaps objects that are files of
    /// their own. Returns whether it is worth a look.
    pub fn note(&mut self, sparse: &[SparseFile], has_objects: bool) -> bool {
        // Those of which nothing is needed are deleted without a merge.
        let files = sparse.iter().filter(|sparse| sparse.alive_bytes > 0).map(|sparse| sparse.file.numbers.clone());
        self.files = files.collect();
        let is_found = has_objects || !self.files.is_empty();
        self.found += u64::from(is_found);
        is_found
    }
}

/// A look that has found nothing to merge.
pub(super) struct Nothing {
    /// Number of objects that were published then.
    pub objects: u64,
    /// The mostly dead files.
    pub files: Arc<[Range<u64>]>,
}

impl Nothing {
    /// Whether another look may find something: other files are mostly dead, or something was published since.
    pub fn is_over(&self, files: &[Range<u64>], objects: u64) -> bool {
        *self.files != *files || self.objects != objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_found_nothing_is_not_repeated_without_news() {
        let files: Arc<[Range<u64>]> = [1..5, 9..12].into();
        let nothing = Nothing { objects: 100, files: files.clone() };
        assert!(!nothing.is_over(&files, 100), "the collector has found the same again");
        assert!(nothing.is_over(&files, 101), "a trim, for example");
        assert!(nothing.is_over(&files[..1], 100), "other files");
    }
}
