//! Snappy's blocks: one alone, as librdkafka writes it, or in the frame of Xerial's Java library, as most others do.
//!
//! ```text
//! "\x82SNAPPY\0" │ version i32 │ oldest compatible version i32 │ blocks: length i32, block
//! ```

use super::output::Output;
use crate::record_batch::RecordError;

const XERIAL_MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const VERSIONS_BYTES: usize = 8;

/// No block unpacks to more than this for each 3 bytes: a copy of 64 bytes takes 3, other elements more for each.
const UNPACKED_BYTES_MAX: u64 = 64;

pub(super) fn unpack(section: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let Some(after) = section.strip_prefix(&XERIAL_MAGIC) else { return block(section, to) };
    let Some((_, mut rest)) = after.split_at_checked(VERSIONS_BYTES) else {
        return Err(to.wrong("the stream's header is truncated"));
    };
    while !rest.is_empty() {
        let Some((length, after)) = rest.split_first_chunk() else {
            return Err(to.wrong("a block's length is truncated"));
        };
        let length = u32::from_be_bytes(*length);
        let Some((bytes, after)) = after.split_at_checked(length as usize) else {
            return Err(to.wrong(format!("a block of {length} bytes where {} follow", after.len())));
        };
        block(bytes, to)?;
        rest = after;
    }
    Ok(())
}

/// One block. It begins with its length when unpacked.
fn block(bytes: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let announced = snap::raw::decompress_len(bytes).map_err(|error| to.wrong(error))? as u64;
    let room = to.claim(announced)?;
    if announced * 3 > bytes.len() as u64 * UNPACKED_BYTES_MAX {
        return Err(to.wrong(format!("{} bytes can't unpack to {announced}", bytes.len())));
    }
    let unpacked = to.append(room, |_, free| snap::raw::Decoder::new().decompress(bytes, free));
    unpacked.map(|_| ()).map_err(|error| to.wrong(error))
}
