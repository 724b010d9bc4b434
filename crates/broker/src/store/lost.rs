//! What an operator reads when acknowledged objects are missing.

use crate::store_error::StoreError;
use rawline_journal::{Missing, Source};

/// The message about missing objects, with the store's names for them.
pub(super) fn explain(
    missing: &Missing,
    name: impl Fn(Source) -> String,
    why: Option<&str>,
    give_up: impl Fn(Source) -> String,
) -> StoreError {
    const NAMES_MAX: usize = 8;
    let objects = missing.objects.iter().map(|range| (Source::Journal(range.start), Source::Journal(range.end - 1)));
    let merged = missing.merged.iter().map(|range| (Source::Merged(range.start), Source::Merged(range.end - 1)));
    let ranges: Vec<(Source, Source)> = objects.chain(merged).collect();
    let named = ranges.iter().take(NAMES_MAX).map(|(first, newest)| {
        if first == newest { name(*first) } else { format!("{} to {}", name(*first), name(*newest)) }
    });
    let names = named.collect::<Vec<_>>().join(", ");
    let more = ranges.len().saturating_sub(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let commands: Vec<String> = missing.firsts().take(NAMES_MAX).map(give_up).collect();
    StoreError::human(format!(
        "acknowledged records are missing{why}: {names}{more} should exist and can't be found. Nothing is stored in \
         this journal, so that no other record gets their offsets. Restore what is missing from a copy and restart the \
         broker; or, to give up these records and keep all others, {} and restart the broker",
        commands.join("; "),
    ))
}
