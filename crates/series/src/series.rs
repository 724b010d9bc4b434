//! Maps metric and tags to a dense series id, shared by all threads.

use std::ops::Range;

use rawline_avro::{Cursor, Fault, FaultKind};

use crate::byte_table::{ByteTable, Full, LimitsError, Number};
use crate::interner::{InternError, Interner, InternerLimits, STRING_BYTES_MAX};

/// Maximum number of tags of a message, including repeated keys: ten times what time-series databases recommend.
pub const TAGS_MAX: usize = 256;

/// Limits of a series table. All memory is allocated at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesLimits {
    /// Maximum number of series, 1 to 2^30.
    pub series_max: u32,
    /// Memory for the series: each takes 12 bytes and 8 for each tag, rounded up to 8.
    pub series_bytes_max: usize,
    /// Maximum number of encodings remembered, 1 to 2^30. A producer writes each series in one encoding, or in a few if
    /// its tags come from hash maps.
    pub aliases_max: u32,
    /// Memory for encodings: each takes 8 bytes and its own length, rounded up to 8.
    pub alias_bytes_max: usize,
    /// Limits for the strings of metrics and tags.
    pub strings: InternerLimits,
}

impl SeriesLimits {
    /// Limits for this many series of ordinary size: two encodings of 112 bytes each, 12 tags, and as many different
    /// strings of 40 bytes as series. About 500 bytes per series, touched only when used.
    pub fn for_series(series_max: u32) -> Self {
        let count = series_max as usize;
        // Small tables need room for long strings too.
        let spare = 1 << 20;
        Self {
            series_max,
            series_bytes_max: spare + count * 112,
            aliases_max: series_max.saturating_mul(2).min(1 << 30),
            alias_bytes_max: spare + count * 2 * 120,
            strings: InternerLimits {
                strings_max: series_max.saturating_add(1 << 14).min(1 << 30),
                bytes_max: spare + count * 48,
            },
        }
    }
}

/// Maps series (metric and tags in any order) to dense ids from 0, and back. All methods take `&self` and may be called
/// from any thread at any time.
///
/// A series is a metric and a set of tags with unique keys. On the wire it has many encodings: tags in any order, in
/// several blocks, with counts written in several ways. Three tables, each with the contract of [`Interner`], map them:
///
/// - *strings*: the interner, for metrics, keys and values;
/// - *series*: the ids of the metric and of the tags, sorted by key, to the series id: one entry per series;
/// - *aliases*: an encoding's bytes, as received, to the series id.
///
/// A known encoding costs one hash and one look-up among the aliases. A new one takes the slow path once: it is
/// checked, its strings are interned, its tags sorted by key (the last of a repeated key counts, as in a map), looked
/// up among the series, and remembered as an alias.
///
/// **Collisions are harmless.** A hash only suggests an alias; the bytes of metric and tags are then compared in full,
/// and equal bytes are the same series. The series' own key consists of string ids, which are equal exactly if the
/// strings are, and it is compared in full too.
///
/// **When a table is full**: without room for a series or its strings, the message gets no id and is counted as
/// dropped. Without room for an alias, the message gets its id by the slow path each time. Nothing waits.
#[derive(Debug)]
pub struct SeriesTable {
    /// Maximum length of a new encoding in bytes.
    encoded_bytes_max: usize,
    strings: Interner,
    series: ByteTable,
    aliases: ByteTable,
}

/// Reasons why metric and tags have no series id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// No room for a new series or its strings. Known series still have their ids.
    #[error("the series table is full: restart with higher limits for series and strings")]
    Full,
    /// The bytes are invalid.
    #[error("{field}: {fault}")]
    Bad {
        /// `metric` or `tags`.
        field: &'static str,
        /// The error and its position.
        fault: Fault,
    },
}

/// Buffers for the slow path, reused between calls.
#[derive(Debug, Default)]
pub struct Scratch {
    tags: Vec<Tag>,
    key: Vec<u8>,
}

#[derive(Debug)]
struct Tag {
    key: Range<usize>,
    value: Range<usize>,
}

impl SeriesTable {
    /// Creates an empty table. The seed goes into the hashes; use a random one unless a test must be repeatable.
    pub fn new(limits: SeriesLimits, seed: u64) -> Result<Self, LimitsError> {
        Ok(Self {
            encoded_bytes_max: usize::MAX,
            strings: Interner::new(limits.strings, seed)?,
            series: ByteTable::new(limits.series_max, limits.series_bytes_max, seed.wrapping_add(1))?,
            aliases: ByteTable::new(limits.aliases_max, limits.alias_bytes_max, seed.wrapping_add(2))?,
        })
    }

    /// Rejects new encodings of metric and tags that are longer than this many bytes. Without a limit, a few series
    /// with long texts use up the memory of all others. Series that [`intern`](Self::intern) adds have no limit.
    pub fn with_encoded_bytes_max(self, encoded_bytes_max: usize) -> Self {
        Self { encoded_bytes_max, ..self }
    }

    /// The id of the series with this metric and these tags, in any order. The last of a repeated key counts.
    pub fn intern<'s>(
        &self,
        metric: &'s str,
        tags: impl IntoIterator<Item = (&'s str, &'s str)>,
    ) -> Result<u32, SeriesError> {
        let mut sorted = std::collections::BTreeMap::new();
        for (at, (key, value)) in tags.into_iter().enumerate() {
            if at == TAGS_MAX {
                return Err(bad("tags", FaultKind::Elements, 0));
            }
            sorted.insert(key, value);
        }
        self.canonical(metric, sorted.into_iter(), &mut Vec::new())
    }

    /// The id of the series with these encoded metric and tags: all bytes from the metric's length to the zero that
    /// ends the map.
    pub fn intern_encoded(&self, encoded: &[u8], scratch: &mut Scratch) -> Result<u32, SeriesError> {
        let hash = self.aliases.hash(encoded);
        if let Some(id) = self.aliases.find(hash, encoded) {
            return Ok(id);
        }
        let mut cursor = Cursor::new(encoded);
        let metric = read_identity(&mut cursor, scratch)?;
        cursor.finish().map_err(|fault| SeriesError::Bad { field: "tags", fault })?;
        self.learn(encoded, hash, metric, encoded, scratch)
    }

    /// The aliases, for a decoder that looks up many of them at once.
    #[inline(always)]
    pub(crate) fn aliases(&self) -> &ByteTable {
        &self.aliases
    }

    /// The id of a series just read from `message` by `read_identity`; its encoding becomes an alias if there is room.
    pub(crate) fn learn(
        &self,
        encoded: &[u8],
        hash: u64,
        metric: &str,
        message: &[u8],
        scratch: &mut Scratch,
    ) -> Result<u32, SeriesError> {
        if encoded.len() > self.encoded_bytes_max {
            return Err(bad("tags", FaultKind::SeriesTooLong, 0));
        }
        let text = |range: &Range<usize>| {
            message.get(range.clone()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
        };
        let Scratch { tags, key } = scratch;
        tags.sort_unstable_by(|a, b| text(&a.key).cmp(text(&b.key)).then(a.key.start.cmp(&b.key.start)));
        // The last entry of a repeated key counts: its value moves forward, and the earlier entries are removed.
        tags.dedup_by(|later, kept| {
            let repeated = text(&later.key) == text(&kept.key);
            if repeated {
                kept.value = later.value.clone();
            }
            repeated
        });
        let sorted = tags.iter().map(|tag| (text(&tag.key), text(&tag.value)));
        let id = self.canonical(metric, sorted, key)?;
        // If the table of aliases is full, messages cost more time but aren't dropped.
        let _ = self.aliases.insert(hash, encoded, Number::Given(id));
        Ok(id)
    }

    /// The id of a series whose tags are sorted and have each key once.
    fn canonical<'s>(
        &self,
        metric: &str,
        tags: impl Iterator<Item = (&'s str, &'s str)>,
        key: &mut Vec<u8>,
    ) -> Result<u32, SeriesError> {
        // When the series table is full, new strings are rejected too: no series could use them.
        let is_full = self.series.is_full_for(size_of::<u32>());
        let intern = |text: &str, field| {
            if is_full {
                return self.strings.find(text.as_bytes()).ok_or(SeriesError::Full);
            }
            self.strings.intern(text.as_bytes()).map_err(|error| match error {
                InternError::Full => SeriesError::Full,
                InternError::TooLong => bad(field, FaultKind::StringTooLong, 0),
                InternError::Utf8 => bad(field, FaultKind::Utf8, 0),
            })
        };
        key.clear();
        key.extend_from_slice(&intern(metric, "metric")?.to_le_bytes());
        for (name, value) in tags {
            key.extend_from_slice(&intern(name, "tags")?.to_le_bytes());
            key.extend_from_slice(&intern(value, "tags")?.to_le_bytes());
        }
        self.insert_key(key)
    }

    /// The id of the series with this key: the metric's string id, then each tag's key and value.
    pub(crate) fn insert_key(&self, key: &[u8]) -> Result<u32, SeriesError> {
        let hash = self.series.hash(key);
        match self.series.find(hash, key) {
            Some(id) => Ok(id),
            None => self.series.insert(hash, key, Number::Next).map_err(|Full| SeriesError::Full),
        }
    }

    /// The series with this id.
    pub fn get(&self, id: u32) -> Option<SeriesRef<'_>> {
        Some(SeriesRef { id, key: self.series.get(id)?, strings: &self.strings })
    }

    /// Series with ids from `since` on, in order.
    pub fn iter_since(&self, since: u32) -> impl Iterator<Item = SeriesRef<'_>> {
        (since..self.len()).filter_map(|id| self.get(id))
    }

    /// Number of series. The ids are the numbers below it.
    pub fn len(&self) -> u32 {
        self.series.len()
    }

    /// Whether the table has no series.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of encodings remembered.
    pub fn aliases_len(&self) -> u32 {
        self.aliases.len()
    }

    /// The strings of metrics and tags.
    pub fn strings(&self) -> &Interner {
        &self.strings
    }

    /// Allocated memory in bytes. It never changes.
    pub fn memory_bytes(&self) -> usize {
        self.strings.memory_bytes() + self.series.memory_bytes() + self.aliases.memory_bytes()
    }
}

/// One series of a table.
#[derive(Debug, Clone, Copy)]
pub struct SeriesRef<'t> {
    id: u32,
    key: &'t [u8],
    strings: &'t Interner,
}

impl<'t> SeriesRef<'t> {
    /// The series' id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The metric.
    pub fn metric(&self) -> &'t str {
        self.text(self.metric_id())
    }

    /// Tags, sorted by key, each key once.
    pub fn tags(&self) -> impl ExactSizeIterator<Item = (&'t str, &'t str)> + use<'t> {
        let series = *self;
        self.tag_ids().map(move |(key, value)| (series.text(key), series.text(value)))
    }

    /// The value of one tag.
    pub fn tag(&self, key: &str) -> Option<&'t str> {
        self.tags().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The metric's id among the table's strings.
    pub fn metric_id(&self) -> u32 {
        self.key.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The ids of the tags' keys and values among the table's strings, in the order of [`tags`](Self::tags).
    pub fn tag_ids(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + use<'t> {
        self.key.get(size_of::<u32>()..).unwrap_or_default().chunks_exact(8).map(|pair| {
            let id = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes));
            (id(pair.first_chunk()), id(pair.last_chunk()))
        })
    }

    /// Metric and tags as string ids, little-endian, as in a snapshot.
    pub(crate) fn key(&self) -> &'t [u8] {
        self.key
    }

    fn text(&self, id: u32) -> &'t str {
        self.strings.get(id).unwrap_or_default()
    }
}

/// Reads a metric and a map of tags, checking every bound, count and string; the tags' places go to `scratch`.
pub(crate) fn read_identity<'m>(cursor: &mut Cursor<'m>, scratch: &mut Scratch) -> Result<&'m str, SeriesError> {
    let (metric, _) = string(cursor).map_err(|fault| SeriesError::Bad { field: "metric", fault })?;
    read_tags(cursor, &mut scratch.tags).map_err(|fault| SeriesError::Bad { field: "tags", fault })?;
    Ok(metric)
}

fn read_tags(cursor: &mut Cursor<'_>, tags: &mut Vec<Tag>) -> Result<(), Fault> {
    tags.clear();
    loop {
        let begin = cursor.clone();
        let (count, size) = cursor.block()?;
        if count == 0 {
            return Ok(());
        }
        let first = cursor.position();
        for _ in 0..count {
            if tags.len() == TAGS_MAX {
                return Err(cursor.fault(FaultKind::Elements));
            }
            let (_, key) = string(cursor)?;
            let (_, value) = string(cursor)?;
            tags.push(Tag { key, value });
        }
        if size.is_some_and(|size| size != cursor.position() - first) {
            return Err(begin.fault(FaultKind::Length));
        }
    }
}

fn string<'m>(cursor: &mut Cursor<'m>) -> Result<(&'m str, Range<usize>), Fault> {
    let begin = cursor.clone();
    let text = cursor.string()?;
    if text.len() > STRING_BYTES_MAX {
        return Err(begin.fault(FaultKind::StringTooLong));
    }
    let end = cursor.position();
    Ok((text, end - text.len()..end))
}

fn bad(field: &'static str, kind: FaultKind, position: usize) -> SeriesError {
    SeriesError::Bad { field, fault: Fault { kind, position } }
}
