//! The bytes of a segment that may be damaged: which of them are data, and the index at their front.

use super::super::sys::populate;
use crate::object::{Header, ObjectError, ObjectIndex};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;

/// The header of the object at the front of `rest`, if its index is sound and the object ends inside.
pub(super) fn index_at(rest: &[u8]) -> io::Result<Result<Header, ObjectError>> {
    let header = match Header::parse(rest) {
        Ok(header) => header,
        Err(error) => return Ok(Err(error)),
    };
    let (have, need) = (rest.len() as u64, header.object_bytes);
    if have < need {
        return Ok(Err(ObjectError::Truncated { have, need }));
    }
    populate(part(rest, 0..header.index_bytes()))?;
    Ok(ObjectIndex::parse(rest).map(|index| index.header))
}

/// Bytes that are known to be there.
pub(super) fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range.clone()).unwrap_or_else(|| unreachable!("bytes {range:?} of {}", bytes.len()))
}

/// The bytes from `position` on: none if an object claims to end after the file does.
pub(super) fn from(mapping: &[u8], position: usize) -> &[u8] {
    mapping.split_at_checked(position).map_or(&[], |(_, rest)| rest)
}

/// The parts of a file that are not holes. Blocks that were allocated and never written are holes too.
pub(in crate::store::disk) fn data_ranges(file: &File, length: usize) -> Vec<Range<usize>> {
    let everything = || std::iter::once(0..length).collect();
    let mut ranges = Vec::new();
    let mut position = 0;
    loop {
        let data = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Ok(data) if data >= length as u64 => return ranges,
            Ok(data) => data,
            Err(Errno::NXIO) => return ranges,
            // A file system without it: everything may be data.
            Err(_) => return everything(),
        };
        match rustix::fs::seek(file, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => {
                ranges.push(data as usize..(hole as usize).min(length));
                position = hole;
            }
            _ => return everything(),
        }
    }
}
