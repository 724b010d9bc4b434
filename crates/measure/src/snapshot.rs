//! The commits that make up a topic's roll-ups at one moment.

use crate::MeasureError;
use crate::layout::{Commit, Counts, Current, DataFile, Files, Horizon, LAYOUT_VERSION, Layout, StartMark, Tier};
use crate::store::Storage;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Number of commits that are read concurrently.
const READS_AT_ONCE: usize = 16;

/// The commits of a topic, without gaps.
///
/// A file may be deleted before it is read, because it was replaced or has expired. If so, load a new snapshot and
/// start over.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The first offset that is rolled up; `None` before the first run.
    pub start: Option<u64>,
    /// The epoch of the [`StartMark`]; commits of other epochs are ignored.
    pub epoch: u32,
    /// In the order of their offsets; each begins where the previous one ends.
    pub commits: Vec<Commit>,
    /// Times before which files don't count.
    pub horizon: Horizon,
}

impl Snapshot {
    /// Reads the commits.
    pub async fn load(storage: &Storage, layout: &Layout) -> Result<Snapshot, MeasureError> {
        let Some(start) = read_json::<StartMark>(storage, layout, &layout.start()).await? else {
            return Ok(Snapshot::default());
        };
        check_version(&layout.start(), start.version)?;
        let horizon = read_json(storage, layout, &layout.horizon()).await?.unwrap_or_default();
        let mut commits =
            read_commits(storage, layout, merged_runs(storage, layout, start.first_offset).await?).await?;
        commits.retain(|commit| commit.epoch == start.epoch);
        // Commits that were replaced are kept, so that no process can create them again, but they are not read.
        let merged_end = commits.last().map_or(start.first_offset, |last| last.end_offset);
        let before = merged_end.checked_sub(1).map(|offset| layout.commit(offset));
        let listed = storage.list(&layout.commits(), before.as_ref()).await?;
        let mut offset = merged_end;
        for commit in read_commits(storage, layout, listed).await? {
            // A commit that begins at another offset is from a process that another process overtook.
            if commit.first_offset == offset && commit.end_offset > offset && commit.epoch == start.epoch {
                offset = commit.end_offset;
                commits.push(commit);
            }
        }
        Ok(Snapshot { start: Some(start.first_offset), epoch: start.epoch, commits, horizon })
    }

    /// Offset at which the next commit begins; `None` before the first run.
    pub fn end_offset(&self) -> Option<u64> {
        self.commits.last().map(|last| last.end_offset).or(self.start)
    }

    /// Numbers of all records by outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.commits.iter().for_each(|commit| counts += commit.counts);
        counts
    }

    /// The current files; `None` if nothing was committed.
    pub fn current(&self) -> Option<Current> {
        let (first_offset, end_offset) = (self.start?, self.commits.last()?.end_offset);
        let mut files = Files { series: self.series().cloned().collect(), ..Files::default() };
        for tier in Tier::ALL {
            files.tier_mut(tier).extend(self.kept(tier).cloned());
        }
        Some(Current { version: LAYOUT_VERSION, first_offset, end_offset, files })
    }

    /// The first free series id.
    pub fn series_end(&self) -> u32 {
        self.commits.last().map_or(0, |last| last.series_end)
    }

    /// The files of series, in the order of their ids.
    pub fn series(&self) -> impl Iterator<Item = &DataFile> {
        self.commits.iter().flat_map(|commit| &commit.files.series)
    }

    /// A tier's files that have not expired, in the order of their offsets.
    pub fn kept(&self, tier: Tier) -> impl Iterator<Item = &DataFile> {
        let horizon = self.horizon.of(tier).unwrap_or(i64::MIN);
        let files = self.commits.iter().flat_map(move |commit| commit.files.tier(tier));
        files.filter(move |file| file.time_max.unwrap_or(i64::MAX) >= horizon)
    }

    /// Those of them that may contain times from `from_ms` to `to_ms`, exclusive.
    pub fn files(&self, tier: Tier, from_ms: i64, to_ms: i64) -> impl Iterator<Item = &DataFile> {
        // A window that begins before the range may extend into it.
        let from_ms = from_ms.saturating_sub(tier.window_ms().map_or(0, |length| length - 1));
        self.kept(tier).filter(move |file| {
            file.time_max.unwrap_or(i64::MAX) >= from_ms && file.time_min.unwrap_or(i64::MIN) < to_ms
        })
    }
}

/// The merged commits from the first offset on; if several begin at the same offset, the longest.
async fn merged_runs(storage: &Storage, layout: &Layout, start: u64) -> Result<Vec<Path>, MeasureError> {
    let mut longest: BTreeMap<u64, (u64, Path)> = BTreeMap::new();
    for path in storage.list(&layout.merged_commits(), None).await? {
        let range = path.filename().and_then(|name| name.strip_suffix(".json")?.split_once('-'));
        let Some((begin, end)) = range.and_then(|(begin, end)| Some((begin.parse().ok()?, end.parse().ok()?))) else {
            continue;
        };
        let longest = longest.entry(begin).or_insert_with(|| (end, path.clone()));
        if end > longest.0 {
            *longest = (end, path);
        }
    }
    let mut offset = start;
    let mut runs = Vec::new();
    while let Some((end, path)) = longest.remove(&offset) {
        runs.push(path);
        if end <= offset {
            break;
        }
        offset = end;
    }
    Ok(runs)
}

async fn read_commits(storage: &Storage, layout: &Layout, paths: Vec<Path>) -> Result<Vec<Commit>, MeasureError> {
    let json = paths.into_iter().filter(|path| path.as_ref().ends_with(".json"));
    let reads = json.map(|path| async move {
        // A merged commit that was listed and doesn't exist was replaced by a longer one: merged commits are deleted
        // only then.
        let commit: Option<Commit> = read_json(storage, layout, &path).await?;
        let commit = commit.ok_or_else(|| MeasureError::Store {
            kind: rawline_client::Kind::TryAgain,
            reason: format!("{path} was replaced while it was read; retry"),
        })?;
        check_version(&path, commit.version)?;
        Ok(commit)
    });
    futures_util::stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await
}

async fn read_json<T: DeserializeOwned>(
    storage: &Storage,
    layout: &Layout,
    path: &Path,
) -> Result<Option<T>, MeasureError> {
    let Some(bytes) = storage.get(path).await? else { return Ok(None) };
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    // Checked first, because a newer version may have another format.
    if let Ok(Version { version }) = serde_json::from_slice(&bytes) {
        check_version(path, version)?;
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| MeasureError::Damaged {
        path: path.to_string(),
        reason: error.to_string(),
        folder: layout.root().to_string(),
    })
}

fn check_version(path: &Path, version: u32) -> Result<(), MeasureError> {
    if version > LAYOUT_VERSION {
        return Err(MeasureError::Version { path: path.to_string(), found: version, known: LAYOUT_VERSION });
    }
    Ok(())
}
