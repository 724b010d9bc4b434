//! The checksum of objects and snapshots.

use rawline_batch::Crc32c;

/// The checksum of a header that ends with it, and of the bytes after the header.
pub(crate) fn checksum(header: &[u8], rest: &[u8]) -> u32 {
    const CRC_BYTES: usize = 4;
    assert!(header.len() > CRC_BYTES, "a header of {} bytes", header.len());
    let mut crc = Crc32c::new();
    crc.update(header.split_at(header.len() - CRC_BYTES).0);
    crc.update(rest);
    crc.value()
}
