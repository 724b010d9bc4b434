//! The objects of a topic's roll-ups: their paths and their formats.
//!
//! ```text
//! .measure/TOPIC/start.json                        the first offset that is rolled up; created once
//! .measure/TOPIC/commit/BEGIN.json                 one commit; creating it is the commit. BEGIN: offset, 20 digits
//! .measure/TOPIC/merged/BEGIN-END.json             one commit that replaces all those between the offsets
//! .measure/TOPIC/series/BEGIN-END-RANDOM.parquet   the commit's new series
//! .measure/TOPIC/raw/BEGIN-END-RANDOM.parquet      its measurements
//! .measure/TOPIC/minute/BEGIN-END-RANDOM.parquet   its windows of one minute
//! .measure/TOPIC/hour/BEGIN-END-RANDOM.parquet     its windows of one hour
//! .measure/TOPIC/current.json                      the current files, for other readers of Parquet
//! .measure/TOPIC/horizon.json                      times before which files are no longer kept
//! ```
//!
//! Names of topics never start with a dot, and brokers ignore names that do. The roll-ups can therefore share a
//! directory or prefix with the topics. Only files that are named in a commit count. Files of a merged commit have
//! `merged-` before RANDOM. Objects in `commit` are not deleted, even if they are merged, so that a process that was
//! suspended can't create one a second time. Only starting over deletes them, and then commits of the earlier epoch
//! don't count.
//!
//! A window's row has what one commit's measurements add to the window. Readers combine the rows of a series and window
//! in the order of the commits' offsets (see [`crate::Aggregate`]), so the result doesn't depend on where commits end.

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// Version of [`Commit`] and of the files it names. Readers refuse greater versions.
pub const LAYOUT_VERSION: u32 = 1;

/// A resolution in which measurements are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Every measurement.
    Raw,
    /// Windows of one minute.
    Minute,
    /// Windows of one hour.
    Hour,
}

impl Tier {
    /// All tiers, the finest first.
    pub const ALL: [Tier; 3] = [Tier::Raw, Tier::Minute, Tier::Hour];

    /// Name of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Raw => "raw",
            Tier::Minute => "minute",
            Tier::Hour => "hour",
        }
    }

    /// Length of a window in milliseconds; `None` for raw measurements.
    pub const fn window_ms(self) -> Option<i64> {
        match self {
            Tier::Raw => None,
            Tier::Minute => Some(60_000),
            Tier::Hour => Some(3_600_000),
        }
    }
}

/// The paths of one topic's roll-ups, below the store's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: Path,
}

impl Layout {
    /// The topic's paths in a store whose topics are below `prefix`, which is empty for a directory.
    pub fn new(prefix: &Path, topic: &str) -> Layout {
        Layout { root: prefix.clone().join(".measure").join(topic) }
    }

    /// The folder of all roll-ups of the topic.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the commits.
    pub fn commits(&self) -> Path {
        self.root.clone().join("commit")
    }

    /// The commit that begins at an offset.
    pub fn commit(&self, first_offset: u64) -> Path {
        self.commits().join(format!("{first_offset:020}.json"))
    }

    /// The folder of the commits that replace others.
    pub fn merged_commits(&self) -> Path {
        self.root.clone().join("merged")
    }

    /// The commit that replaces all commits from one offset to another.
    pub fn merged_commit(&self, first_offset: u64, end_offset: u64) -> Path {
        self.merged_commits().join(format!("{first_offset:020}-{end_offset:020}.json"))
    }

    /// The [`StartMark`].
    pub fn start(&self) -> Path {
        self.root.clone().join("start.json")
    }

    /// The list of [`Current`] files.
    pub fn current(&self) -> Path {
        self.root.clone().join("current.json")
    }

    /// The [`Horizon`].
    pub fn horizon(&self) -> Path {
        self.root.clone().join("horizon.json")
    }

    /// The folder of the series.
    pub fn series_folder(&self) -> Path {
        self.root.clone().join("series")
    }

    /// The folder of a tier's files.
    pub fn tier_folder(&self, tier: Tier) -> Path {
        self.root.clone().join(tier.name())
    }

    /// The path of a file that a commit names.
    pub fn file(&self, file: &DataFile) -> Path {
        Path::from(format!("{}/{}", self.root, file.path))
    }
}

/// The first offset of the topic that is rolled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartMark {
    /// [`LAYOUT_VERSION`] of the writer.
    pub version: u32,
    /// The offset.
    #[serde(rename = "offset_begin")]
    pub first_offset: u64,
    /// Identifies the roll-ups that begin here: 0, or a random number if earlier ones were deleted. Commits with
    /// another number don't belong to them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Times before which files are no longer part of the roll-ups, milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Horizon {
    /// For measurements; `None` keeps all of them.
    #[serde(default)]
    pub raw_ms: Option<i64>,
    /// For windows of one minute.
    #[serde(default)]
    pub minute_ms: Option<i64>,
    /// For windows of one hour.
    #[serde(default)]
    pub hour_ms: Option<i64>,
}

impl Horizon {
    /// The horizon of a tier.
    pub fn of(&self, tier: Tier) -> Option<i64> {
        match tier {
            Tier::Raw => self.raw_ms,
            Tier::Minute => self.minute_ms,
            Tier::Hour => self.hour_ms,
        }
    }
}

/// A commit: the files made from the topic's records from one offset to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// [`LAYOUT_VERSION`] of the writer.
    pub version: u32,
    /// The epoch of the [`StartMark`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
    /// Offset of the commit's first record.
    #[serde(rename = "offset_begin")]
    pub first_offset: u64,
    /// Offset after the commit's last record, where the next commit begins.
    #[serde(rename = "offset_end")]
    pub end_offset: u64,
    /// Sequence number of its first commit, from 0. A commit that replaces others covers a range of numbers.
    pub sequence_begin: u64,
    /// Sequence number of the next commit.
    pub sequence_end: u64,
    /// Id of the first series that is new in this commit.
    pub series_begin: u32,
    /// Id after the last series that is new in this commit, where the new series of the next commit begin.
    pub series_end: u32,
    /// Its files.
    pub files: Files,
    /// Number of its records by outcome.
    pub counts: Counts,
}

/// The files of a topic's roll-ups at one moment, for other readers of Parquet: all current files, and no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Current {
    /// [`LAYOUT_VERSION`] of the writer.
    pub version: u32,
    /// The topic's first offset that is rolled up.
    pub first_offset: u64,
    /// Offset after the last record that is rolled up.
    pub end_offset: u64,
    /// The files.
    #[serde(flatten)]
    pub files: Files,
}

/// The files of a commit, or of all commits. A list may be empty, and may have several files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// New series: see [`series_schema`].
    pub series: Vec<DataFile>,
    /// Measurements: see [`raw_schema`].
    pub raw: Vec<DataFile>,
    /// Windows of one minute: see [`window_schema`].
    pub minute: Vec<DataFile>,
    /// Windows of one hour: see [`window_schema`].
    pub hour: Vec<DataFile>,
}

impl Files {
    /// A tier's files, in the order of their offsets.
    pub fn tier(&self, tier: Tier) -> &[DataFile] {
        match tier {
            Tier::Raw => &self.raw,
            Tier::Minute => &self.minute,
            Tier::Hour => &self.hour,
        }
    }

    /// A tier's files, mutable.
    pub fn tier_mut(&mut self, tier: Tier) -> &mut Vec<DataFile> {
        match tier {
            Tier::Raw => &mut self.raw,
            Tier::Minute => &mut self.minute,
            Tier::Hour => &mut self.hour,
        }
    }
}

/// One Parquet file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Its path below the topic's folder, such as `raw/BEGIN-END-RANDOM.parquet`.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of its rows.
    pub rows: u64,
    /// Earliest time of its measurements, or start of its first window, in milliseconds since the Unix epoch. Absent in
    /// files of series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_min: Option<i64>,
    /// Latest time of its measurements, or start of its last window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_max: Option<i64>,
}

/// Numbers of records by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Measurements in the files.
    pub decoded: u64,
    /// Measurements that were dropped because there was no room for their series.
    pub dropped: u64,
    /// Records that are not measurements.
    pub bad: u64,
    /// Records deleted from the topic before they were read.
    #[serde(default)]
    pub missing: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.decoded += other.decoded;
        self.dropped += other.dropped;
        self.bad += other.bad;
        self.missing += other.missing;
    }
}

/// Columns of a file of series, in the order of their ids.
///
/// - `series` UInt32: the id that other files use;
/// - `metric` Utf8;
/// - `tags` Map of Utf8 to Utf8, sorted by key.
pub fn series_schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        Arc::new(Schema::new(vec![
            Field::new("series", DataType::UInt32, false),
            Field::new("metric", DataType::Utf8, false),
            Field::new("tags", tags_type(), false),
        ]))
    });
    SCHEMA.clone()
}

/// The type of the column `tags`.
pub(crate) fn tags_type() -> DataType {
    let pair = Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, false)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(pair), false)), true)
}

/// The type of all columns that are times.
pub fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

/// Columns of a file of measurements, sorted by `series`, then `time`, then offset.
///
/// - `series` UInt32;
/// - `time` Timestamp in milliseconds, UTC;
/// - `value` Float64, which may be NaN or infinite.
pub fn raw_schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        Arc::new(Schema::new(vec![
            Field::new("series", DataType::UInt32, false),
            Field::new("time", time_type(), false),
            Field::new("value", DataType::Float64, false),
        ]))
    });
    SCHEMA.clone()
}

/// Columns of a file of windows, sorted by `series`, then `window`; one row for each pair.
///
/// - `series` UInt32;
/// - `window` Timestamp in milliseconds, UTC: where the window begins, a multiple of its length;
/// - `count` UInt64, at least 1: all values, including NaN;
/// - `sum` Float64: the sum of all values, rounded once; NaN if one of them is;
/// - `sum_rest` Binary, null if `sum` is exact: the rounding error, see [`crate::ExactSum`];
/// - `min`, `max` Float64: of the values that are not NaN; NaN if all are;
/// - `last` Float64: the value with the latest time; if several have it, the one with the greatest offset;
/// - `last_time` Timestamp in milliseconds, UTC: the time of `last`;
/// - `sketch` Binary, null if no value differs from `min`: see [`crate::Sketch`];
/// - `first` Float64, null if `count` is 1: the value with the earliest time, without NaN; if several have it, the one
///   with the smallest offset; NaN if all values are;
/// - `first_time` Timestamp in milliseconds, UTC, null if `count` is 1: the time of `first`;
/// - `reset_sum` Float64, null if no value is less than the one before it: the sum of the values before each fall of a
///   counter, see [`crate::Stretch`];
/// - `last_number` Float64, null if `last` is a number or no value is one: like `last`, without NaN;
/// - `last_number_time` Timestamp in milliseconds, UTC, null like `last_number`: its time.
pub fn window_schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        Arc::new(Schema::new(vec![
            Field::new("series", DataType::UInt32, false),
            Field::new("window", time_type(), false),
            Field::new("count", DataType::UInt64, false),
            Field::new("sum", DataType::Float64, false),
            Field::new("sum_rest", DataType::Binary, true),
            Field::new("min", DataType::Float64, false),
            Field::new("max", DataType::Float64, false),
            Field::new("last", DataType::Float64, false),
            Field::new("last_time", time_type(), false),
            Field::new("sketch", DataType::Binary, true),
            Field::new("first", DataType::Float64, true),
            Field::new("first_time", time_type(), true),
            Field::new("reset_sum", DataType::Float64, true),
            Field::new("last_number", DataType::Float64, true),
            Field::new("last_number_time", time_type(), true),
        ]))
    });
    SCHEMA.clone()
}
