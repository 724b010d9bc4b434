//! Copies texts from a message into columns.
//!
//! Most texts are short and ASCII. One read of 17 bytes gets such a text with its length; it is checked and stored as a
//! 16-byte number, whatever its length. This needs no call to copy a few bytes and no loop to check them. The cursor
//! reads all other texts.

use std::sync::Arc;

use super::column::{CHUNK, Column, Data, Runs};
use crate::cursor::Cursor;
use crate::error::{Fault, FaultKind};
use crate::string_ids::StringIds;

/// State shared by all text columns.
#[derive(Debug)]
pub(super) struct Texts {
    /// Bytes that views point into.
    pub block: Vec<u8>,
    /// Whether whole messages are copied there instead of single texts.
    pub whole: bool,
    pub interner: Option<Arc<dyn StringIds>>,
    /// A cache of short texts and their ids, indexed by a hash of the bytes. Ids never change.
    pub memo: Box<[Known; MEMO]>,
}

/// A text of at most 16 bytes, padded with zeros, and its id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    bits: u128,
    length: u32,
    id: u32,
}

/// 16 KiB, half of a level-1 cache.
const MEMO: usize = 512;

/// Maximum length of a text that is stored in its view.
const VIEW_INLINE_MAX: usize = 12;

/// Masks that keep the first `index` of 16 bytes.
#[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
const MASKS: [u128; CHUNK + 1] = {
    let mut masks = [u128::MAX; CHUNK + 1];
    let mut length = 0;
    while length < CHUNK {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; CHUNK]);

impl Texts {
    pub fn new(whole: bool, interner: Option<Arc<dyn StringIds>>) -> Self {
        // No text has this length.
        let nothing = Known { bits: 0, length: u32::MAX, id: 0 };
        Self { block: Vec::new(), whole, interner, memo: Box::new([nothing; MEMO]) }
    }

    /// The interner's id of a text.
    pub fn id(&self, text: &[u8]) -> Result<u32, FaultKind> {
        self.interner.as_ref().map_or(Err(FaultKind::StringsFull), |interner| interner.intern(text))
    }
}

/// A short ASCII text, padded with zeros, and its length. Moves the cursor past the text. The cursor stays if the text
/// is longer, isn't ASCII, or is too close to the end of the message.
#[inline(always)]
fn short(cursor: &mut Cursor) -> Option<(u128, usize)> {
    let [first, chunk @ ..] = cursor.rest().first_chunk::<{ CHUNK + 1 }>()?;
    let length = usize::from(first >> 1);
    // An odd first byte is a negative length; one from 0x80 on begins a length of several bytes. Those have no mask.
    let mask = if first & 1 == 0 { MASKS.get(length)? } else { return None };
    let bits = u128::from_le_bytes(*chunk) & mask;
    if bits & NOT_ASCII != 0 {
        return None;
    }
    cursor.fixed(1 + length).ok()?;
    Some((bits, length))
}

/// Reads a map's entries into its columns of keys and values, if both are text of one kind; returns whether they are.
#[inline(always)]
pub(super) fn read_entries<'m>(
    [Column { data: keys, .. }, Column { data: values, .. }]: &mut [Column; 2],
    count: usize,
    cursor: &mut Cursor<'m>,
    message: &'m [u8],
    texts: &mut Texts,
    viewed: &mut bool,
) -> Result<bool, Fault> {
    // All texts lie between the cursor and the message's end.
    let bytes_max = cursor.rest().len();
    let mut local = cursor.clone();
    match (keys, values) {
        (Data::Runs(keys), Data::Runs(values)) => {
            if !keys.reserve(count, bytes_max) || !values.reserve(count, bytes_max) {
                return Err(cursor.fault(FaultKind::ColumnsFull));
            }
            for _ in 0..count {
                read_run(keys, &mut local)?;
                read_run(values, &mut local)?;
            }
        }
        (Data::View(keys), Data::View(values)) => {
            keys.reserve(count);
            values.reserve(count);
            for _ in 0..count {
                read_view(keys, &mut local, message, texts, viewed)?;
                read_view(values, &mut local, message, texts, viewed)?;
            }
        }
        (Data::Id(keys), Data::Id(values)) => {
            for _ in 0..count {
                read_id(keys, &mut local, texts)?;
                read_id(values, &mut local, texts)?;
            }
        }
        _ => return Ok(false),
    }
    *cursor = local;
    Ok(true)
}

/// Reads a text into runs with enough capacity.
#[inline(always)]
pub(super) fn read_run(runs: &mut Runs, cursor: &mut Cursor) -> Result<(), Fault> {
    match short(cursor) {
        Some((bits, length)) => runs.append_short(&bits.to_le_bytes(), length),
        None => runs.append(cursor.string()?.as_bytes(), None),
    }
    Ok(())
}

/// Reads a text into views.
#[inline(always)]
pub(super) fn read_view<'m>(
    views: &mut Vec<u128>,
    cursor: &mut Cursor<'m>,
    message: &'m [u8],
    texts: &mut Texts,
    viewed: &mut bool,
) -> Result<(), Fault> {
    let mut ahead = cursor.clone();
    if let Some((bits, length)) = short(&mut ahead)
        && length <= VIEW_INLINE_MAX
    {
        *cursor = ahead;
        views.push(bits << 32 | length as u128);
        return Ok(());
    }
    let begin = cursor.position();
    let text = cursor.string()?;
    match push_view(views, text, message, texts, viewed) {
        true => Ok(()),
        false => Err(Fault { kind: FaultKind::ColumnsFull, position: begin }),
    }
}

/// Reads a text as its id.
#[inline(always)]
pub(super) fn read_id(ids: &mut Vec<u32>, cursor: &mut Cursor, texts: &mut Texts) -> Result<(), Fault> {
    let begin = cursor.position();
    let wrong = |kind| Fault { kind, position: begin };
    let Some((bits, length)) = short(cursor) else {
        let text = cursor.string()?;
        ids.push(texts.id(text.as_bytes()).map_err(wrong)?);
        return Ok(());
    };
    // The high half of a product depends on all of its factors' bits.
    let folded = (bits as u64 ^ (bits >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let place = (folded >> (64 - MEMO.ilog2())) as usize;
    let id = match texts.memo.get(place) {
        Some(known) if known.bits == bits && known.length == length as u32 => known.id,
        _ => {
            let id = texts.id(bits.to_le_bytes().get(..length).unwrap_or_default()).map_err(wrong)?;
            if let Some(known) = texts.memo.get_mut(place) {
                *known = Known { bits, length: length as u32, id };
            }
            id
        }
    };
    ids.push(id);
    Ok(())
}

/// The bytes from the start of a text; `None` if the message ends earlier, or the text is from a default.
#[inline(always)]
pub(super) fn chunk<'m>(message: &'m [u8], text: &str) -> Option<&'m [u8; CHUNK]> {
    let begin = text.as_ptr().addr().wrapping_sub(message.as_ptr().addr());
    message.get(begin..)?.first_chunk()
}

/// Returns false if the block is full: a view's offset is below 2^31.
#[inline]
pub(super) fn push_view(
    views: &mut Vec<u128>,
    text: &str,
    message: &[u8],
    texts: &mut Texts,
    viewed: &mut bool,
) -> bool {
    let text = text.as_bytes();
    if text.len() <= VIEW_INLINE_MAX {
        let mut bytes = [0; CHUNK];
        if let Some(place) = bytes.get_mut(..text.len()) {
            place.copy_from_slice(text);
        }
        views.push(u128::from_le_bytes(bytes) << 32 | text.len() as u128);
        return true;
    }
    let offset = texts.block.len();
    let offset = if texts.whole {
        *viewed = true;
        offset + text.as_ptr().addr().wrapping_sub(message.as_ptr().addr())
    } else {
        texts.block.extend_from_slice(text);
        offset
    };
    // Length, first four bytes, block 0 and offset.
    let prefix = text.first_chunk().copied().map_or(0, u32::from_le_bytes);
    views.push(text.len() as u128 | u128::from(prefix) << 32 | (offset as u128) << 96);
    i32::try_from(offset + text.len()).is_ok()
}
