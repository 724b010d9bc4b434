//! Where a file has data.

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;

/// The parts of a file that are not holes. Blocks that were allocated and never written are holes too.
pub(in crate::store) fn data_ranges(file: &File, length: usize) -> Vec<Range<usize>> {
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
