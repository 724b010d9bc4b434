//! The lines of a search's response: JSON objects, one a line.

use super::remaining::Remaining;
use crate::http::error::ApiError;
use crate::http::render::RecordJson;
use serde::Serialize;
use std::io::Write;

/// A match with more bytes is delivered without its contents, which `GET /record` has.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 10;

/// How far a search is.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Progress {
    /// Matches so far.
    pub matches: u64,
    /// Offsets that were looked through.
    pub offsets: u64,
    /// Offsets that are left.
    pub offsets_left: u64,
    /// Bytes of the records that were looked through.
    pub bytes: u64,
    /// Records in batches that can't be read.
    pub unreadable: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Progress(Progress),
    End {
        #[serde(flatten)]
        progress: Progress,
        /// The cursor at which the next request continues.
        #[serde(skip_serializing_if = "Option::is_none")]
        resume: Option<String>,
        /// Why the search ended early.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}

#[derive(Serialize)]
struct Failure {
    code: &'static str,
    error: String,
}

/// The line of a match.
pub(super) fn matched(partition: u32, record: &RecordJson<'_>) -> Vec<u8> {
    let bytes = record.stored_bytes();
    let mut line = Vec::new();
    let written = if bytes > RECORD_BYTES_MAX {
        let (offset, time) = (record.offset, record.time);
        writeln!(line, "{{\"partition\":{partition},\"offset\":{offset},\"time\":\"{time}\",\"bytes\":{bytes}}}")
    } else {
        let mut object = Vec::with_capacity(bytes + 128);
        record.write(&mut object).and_then(|()| {
            let Some((b'{', members)) = object.split_first() else { unreachable!("a record as JSON is an object") };
            write!(line, "{{\"partition\":{partition},")?;
            line.write_all(members)?;
            line.write_all(b"\n")
        })
    };
    written.unwrap_or_else(|error| unreachable!("a record that was read has a JSON form: {error}"));
    line
}

/// The line of a search that continues.
pub(super) fn progress(progress: Progress) -> Vec<u8> {
    line(&Line::Progress(progress))
}

/// The newest line: a search that has ended, and where the next one continues if something is left.
pub(super) fn end(progress: Progress, remaining: &Remaining, error: Option<ApiError>) -> Vec<u8> {
    let failure = error.map(|error| Failure { code: error.code().name, error: error.to_string() });
    line(&Line::End { progress, resume: (!remaining.is_empty()).then(|| remaining.to_string()), failure })
}

fn line(line: &Line) -> Vec<u8> {
    let mut text =
        serde_json::to_vec(line).unwrap_or_else(|error| unreachable!("a line of a search has a JSON form: {error}"));
    text.push(b'\n');
    text
}
