//! Paths: the cases' messages, the bytes that languages exchange, the results.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The sizes of a case as in file names: as published, then grown.
pub const SIZES: [&str; 6] = ["base", "100", "1k", "10k", "100k", "1m"];

/// The folder that all languages share.
#[derive(Debug, Clone)]
pub struct Files {
    out: PathBuf,
}

/// A file of bytes that some row of some language wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wire {
    /// Where it is.
    pub path: PathBuf,
    /// The writer's language.
    pub language: String,
    /// The writer's library.
    pub library: String,
    /// Its variant.
    pub variant: String,
    /// The wire format.
    pub format: String,
    /// The case.
    pub case: String,
    /// The size.
    pub size: String,
}

impl Files {
    /// The folder, usually `lab/out`.
    pub fn new(out: &Path) -> Files {
        Files { out: out.to_owned() }
    }

    /// A case's messages, JSON lines.
    pub fn messages(&self, case: &str, size: &str) -> Result<String> {
        let path = self.out.join("cases").join(format!("{case}.{size}.jsonl"));
        let hint = || format!("{} can't be read; create it with python3 lab/cases/generate.py", path.display());
        fs::read_to_string(&path).with_context(hint)
    }

    /// Where a run's samples go, as criterion writes them.
    pub fn samples(&self) -> PathBuf {
        self.out.join("criterion")
    }

    /// Writes a row's bytes: for each message its length, u32 little-endian, then the message.
    pub fn write_wire<'w>(
        &self,
        row: &str,
        format: &str,
        case: &str,
        size: &str,
        wires: impl Iterator<Item = &'w [u8]>,
    ) -> Result<()> {
        let folder = self.out.join("wire").join("rust").join(row);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let mut bytes = Vec::new();
        for wire in wires {
            bytes.extend_from_slice(&u32::try_from(wire.len())?.to_le_bytes());
            bytes.extend_from_slice(wire);
        }
        let path = folder.join(format!("{format}.{case}.{size}.bin"));
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Every file that any language wrote, sorted by name.
    pub fn wires(&self) -> Result<Vec<Wire>> {
        let mut wires = Vec::new();
        for language in folders(&self.out.join("wire"))? {
            for writer in folders(&language)? {
                for path in folders(&writer)? {
                    wires.extend(wire_at(&path));
                }
            }
        }
        wires.sort();
        Ok(wires)
    }

    /// Appends a line to a file of JSON lines.
    pub fn append(&self, name: &str, line: &serde_json::Value) -> Result<()> {
        let path = self.out.join(name);
        let open = || -> std::io::Result<()> {
            let mut file: File = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        open().with_context(|| format!("cannot append to {}", path.display()))
    }
}

/// The messages in a file of bytes.
pub fn split_wire(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut messages = Vec::new();
    let mut rest = bytes;
    while let Some((length, tail)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((message, tail)) = tail.split_at_checked(length) else {
            bail!("message {} is truncated", messages.len());
        };
        messages.push(message);
        rest = tail;
    }
    if !rest.is_empty() {
        bail!("{} bytes follow the last message", rest.len());
    }
    Ok(messages)
}

/// A folder's entries; empty if the folder doesn't exist.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<_>>()?)
}

/// Parses `LANGUAGE/LIBRARY[+VARIANT]/FORMAT.CASE.SIZE.bin`.
fn wire_at(path: &Path) -> Option<Wire> {
    let name = path.file_name()?.to_str()?.strip_suffix(".bin")?;
    let mut parts = name.rsplitn(3, '.').map(str::to_owned);
    let (size, case, format) = (parts.next()?, parts.next()?, parts.next()?);
    let writer = path.parent()?;
    let (library, variant) = {
        let name = writer.file_name()?.to_str()?;
        name.split_once('+').unwrap_or((name, ""))
    };
    let language = writer.parent()?.file_name()?.to_str()?.to_owned();
    let (library, variant) = (library.to_owned(), variant.to_owned());
    Some(Wire { path: path.to_owned(), language, library, variant, format, case, size })
}
