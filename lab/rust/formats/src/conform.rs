//! Conformance: messages of one language are read equal by the others. It runs before any measurement.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};
use rkyv::util::AlignedVec;
use serde_json::json;

use crate::codec::Operation;
use crate::files::{Files, Wire, split_wire};
use crate::rows;
use crate::work::{Entry, Load};

/// Sizes that are enough to see that two rows agree.
const SIZES: [&str; 3] = ["base", "100", "10k"];

/// Writes every case with every row that writes. Returns the number of files.
pub fn write(files: &Files) -> Result<usize> {
    let mut count = 0;
    for entry in rows::all().iter().filter(|entry| entry.row.has(Operation::Encode)) {
        for size in SIZES {
            let load = entry.load(&files.messages(entry.case, size)?, usize::MAX)?;
            let wires = load.wires().iter().map(|wire| wire.as_slice());
            files.write_wire(&entry.row.name(), entry.row.format, entry.case, size, wires)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Reads every file that any language wrote, with every row of its format, and appends the outcomes.
/// Returns how many pairs agree and how many don't.
pub fn read(files: &Files) -> Result<(usize, usize)> {
    let (mut good, mut bad) = (0, 0);
    let wires = files.wires()?;
    for entry in rows::all() {
        for size in SIZES {
            let load = entry.load(&files.messages(entry.case, size)?, usize::MAX)?;
            let fits = |wire: &&Wire| {
                // A row that only reads fields is meant for bytes that the program wrote itself.
                let reads = entry.row.has(Operation::Decode) || wire.language == "rust";
                reads
                    && packed(&wire.variant) == packed(entry.row.variant)
                    && wire.format == entry.row.format
                    && wire.case == entry.case
                    && wire.size == size
            };
            for wire in wires.iter().filter(fits) {
                let result = fs::read(&wire.path).map_err(Into::into).and_then(|bytes| check(&entry, &*load, &bytes));
                let error = result.err().map(|error| short(&format!("{error:#}")));
                *(if error.is_none() { &mut good } else { &mut bad }) += 1;
                if let Some(error) = &error {
                    eprintln!("{} does not read {}: {error}", entry.row.name(), wire.path.display());
                }
                let line = json!({
                    "writer": {"language": wire.language, "library": wire.library, "variant": wire.variant},
                    "reader": {"language": "rust", "library": entry.row.library, "variant": entry.row.variant},
                    "format": wire.format,
                    "case": wire.case,
                    "size": wire.size,
                    "ok": error.is_none(),
                    "error": error.unwrap_or_default(),
                });
                files.append("conformance.jsonl", &line)?;
            }
        }
    }
    Ok((good, bad))
}

/// Whether a variant's bytes are packed. Packed bytes differ from those of the format's other variants.
pub fn packed(variant: &str) -> bool {
    variant.contains("packed")
}

/// Checks the bytes of a file with every operation of the row. Some generated code panics on bytes that it
/// doesn't understand; that counts as an error.
fn check(entry: &Entry, load: &dyn Load, bytes: &[u8]) -> Result<()> {
    let checked = catch_unwind(AssertUnwindSafe(|| check_all(entry, load, bytes)));
    checked.unwrap_or_else(|_| Err(anyhow!("the library panicked")))
}

fn check_all(entry: &Entry, load: &dyn Load, bytes: &[u8]) -> Result<()> {
    let mut aligned = Vec::new();
    for message in split_wire(bytes)? {
        let mut buffer: AlignedVec = AlignedVec::new();
        buffer.extend_from_slice(message);
        aligned.push(buffer);
    }
    let messages: Vec<&[u8]> = aligned.iter().map(|message| message.as_slice()).collect();
    if entry.row.has(Operation::Decode) {
        load.verify(&messages)?;
    }
    load.verify_fields(&messages)
}

/// The start of a text that may contain a whole message.
fn short(text: &str) -> String {
    const CHARACTERS_MAX: usize = 400;
    text.chars().take(CHARACTERS_MAX).collect()
}
