//! The names of copies.

use rawline_journal::Source;

/// Names a copy. Objects don't change, but a bucket can be emptied and filled again: the tag distinguishes an object
/// from another that once had its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CopyName {
    pub topic: String,
    pub first_offset: u64,
    pub tag: u32,
}

/// Stand for a topic's name where a copy is one of a journal object, or of a merged one: as they are in the first
/// journal, in others followed by the journal's number. No topic's name begins with a dot.
const JOURNAL: &str = ".journal";
const MERGED: &str = ".merged";

impl CopyName {
    /// The copy of an object of a journal.
    pub fn journal(journal: u32, source: Source, tag: u32) -> CopyName {
        let folder = if source.is_merged() { MERGED } else { JOURNAL };
        let topic = if journal == 0 { folder.to_owned() } else { format!("{folder}-{journal:04}") };
        CopyName { topic, first_offset: source.number(), tag }
    }

    /// The object of a journal that the copy is one of: its number takes the offset's place.
    pub(super) fn source(&self) -> Option<Source> {
        match self.topic.split_once('-').map_or(self.topic.as_str(), |(folder, _)| folder) {
            JOURNAL => Some(Source::Journal(self.first_offset)),
            MERGED => Some(Source::Merged(self.first_offset)),
            _ => None,
        }
    }
}
