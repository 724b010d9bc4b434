//! Measures the bytes that the drivers wrote for conformance: plain, compressed each alone, with a dictionary, and
//! together.

use crate::line::{Line, Machine};
use std::path::{Path, PathBuf};

/// zstd's default level.
const LEVEL: i32 = 3;
/// The maximum that zstd's own program uses.
const DICTIONARY_BYTES_MAX: usize = 110 << 10;
/// The messages that the drivers time in a quick run.
const QUICK: [(&str, &str); 2] = [("zeek", "base"), ("pingpong", "base")];
/// Fewer samples are too few to train a dictionary.
const DICTIONARY_MESSAGES_MIN: usize = 100;

/// Means over messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Bytes a message.
    pub bytes: f64,
    /// Each compressed alone.
    pub zstd: f64,
    /// All compressed together, a message's share.
    pub zstd_batch: f64,
    /// Each of one half compressed alone with a dictionary trained on the other half, which isn't counted. None if
    /// there are too few messages or they are too short.
    pub zstd_dictionary: Option<f64>,
}

/// Measures messages; returns None without messages.
pub fn measure<'m>(messages: impl Iterator<Item = &'m [u8]> + Clone) -> std::io::Result<Option<Sizes>> {
    let count = messages.clone().count();
    if count == 0 {
        return Ok(None);
    }
    let mean = |bytes: usize, count: usize| bytes as f64 / count.max(1) as f64;
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    let (mut bytes, mut alone) = (0, 0);
    let mut batch = Vec::new();
    for message in messages.clone() {
        bytes += message.len();
        alone += compressor.compress(message)?.len();
        batch.extend_from_slice(message);
    }
    let together = compressor.compress(&batch)?.len();
    let zstd_dictionary = if count < DICTIONARY_MESSAGES_MIN {
        None
    } else {
        let trained: Vec<&[u8]> = messages.clone().step_by(2).collect();
        // Messages that are too similar or too short have no dictionary; that isn't a failure.
        zstd::dict::from_samples(&trained, DICTIONARY_BYTES_MAX).ok().and_then(|dictionary| {
            let mut compressor = zstd::bulk::Compressor::with_dictionary(LEVEL, &dictionary).ok()?;
            let others = messages.skip(1).step_by(2);
            let total: usize = others
                .clone()
                .map(|message| compressor.compress(message).map(|out| out.len()))
                .sum::<Result<_, _>>()
                .ok()?;
            Some(mean(total, others.count()))
        })
    };
    Ok(Some(Sizes {
        bytes: mean(bytes, count),
        zstd: mean(alone, count),
        zstd_batch: mean(together, count),
        zstd_dictionary,
    }))
}

/// A size line for each file `LANG/LIBRARY[+VARIANT]/FORMAT.CASE.SIZE.bin` under the folder, and the bad files. If
/// `blank` is of a quick run, only of the messages that such a run times.
pub fn of_folder(wire: &Path, blank: &Line) -> Result<(Vec<Line>, Vec<String>), String> {
    let mut lines = Vec::new();
    let mut bad = Vec::new();
    for language in sorted(wire)? {
        for library in sorted(&language)? {
            for file in sorted(&library)? {
                match of_file(&language, &library, &file, blank) {
                    Ok(Some(line)) => lines.push(line),
                    Ok(None) => {}
                    Err(why) => bad.push(format!("{}: {why}", file.display())),
                }
            }
        }
    }
    Ok((lines, bad))
}

fn of_file(language: &Path, library: &Path, file: &Path, blank: &Line) -> Result<Option<Line>, String> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (file_name, library) = (name(file), name(library));
    let Some(stem) = file_name.strip_suffix(".bin") else { return Ok(None) };
    let mut parts = stem.rsplitn(3, '.');
    let (Some(size), Some(case), Some(format)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("its name isn't FORMAT.CASE.SIZE.bin".to_owned());
    };
    if blank.quick && !QUICK.contains(&(case, size)) {
        return Ok(None);
    }
    let content = std::fs::read(file).map_err(|error| error.to_string())?;
    let messages = split(&content)?;
    let sizes = measure(messages.iter().copied()).map_err(|error| error.to_string())?;
    let Some(sizes) = sizes else { return Err("it has no message".to_owned()) };
    let (library, variant) = library.split_once('+').unwrap_or((&library, ""));
    let round = |bytes: f64| Some((bytes * 1000.0).round() / 1000.0);
    Ok(Some(Line {
        language: name(language),
        library: library.to_owned(),
        variant: variant.to_owned(),
        format: format.to_owned(),
        case: case.to_owned(),
        size: size.to_owned(),
        operation: "size".to_owned(),
        messages: "varied".to_owned(),
        threads: 1,
        bytes: round(sizes.bytes),
        bytes_zstd: round(sizes.zstd),
        bytes_zstd_batch: round(sizes.zstd_batch),
        bytes_zstd_dictionary: sizes.zstd_dictionary.and_then(round),
        ..blank.clone()
    }))
}

/// The messages of a file: each after its length, u32 little-endian.
fn split(mut content: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut messages = Vec::new();
    while !content.is_empty() {
        let (length, rest) = content.split_first_chunk::<4>().ok_or("it ends within a length")?;
        let length = u32::from_le_bytes(*length) as usize;
        let (message, rest) =
            rest.split_at_checked(length).ok_or_else(|| format!("message {} is truncated", messages.len() + 1))?;
        messages.push(message);
        content = rest;
    }
    Ok(messages)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("can't read {}: {error}", folder.display());
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The fields that every size line of this run has.
pub fn blank(run: &str, commit: &str, time: &str, quick: bool) -> Line {
    Line {
        run: run.to_owned(),
        commit: commit.to_owned(),
        time: time.to_owned(),
        machine: Machine::here(),
        quick,
        harness: format!("lab-report {}, zstd level {LEVEL}", env!("CARGO_PKG_VERSION")),
        ..Line::default()
    }
}
