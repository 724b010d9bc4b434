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
