//! Reads a measurement's time and value from the message's end, without knowing where they begin.

/// The high bit of each byte: set if a variable-length integer continues after the byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The fields after the tags.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail<V> {
    /// Start of `time`.
    pub(super) begin: usize,
    pub(super) time: i64,
    pub(super) value: V,
}

impl<V> Tail<V> {
    #[inline(always)]
    pub(super) fn map<W>(self, convert: impl FnOnce(V) -> W) -> Tail<W> {
        Tail { begin: self.begin, time: self.time, value: convert(self.value) }
    }
}

/// The last two variable-length integers of a body.
#[inline(always)]
pub(super) fn two_longs(body: &[u8]) -> Option<Tail<i64>> {
    let (value, begin) = long_before(body, body.len())?;
    let (time, begin) = long_before(body, begin)?;
    Some(Tail { begin, time, value })
}

/// The variable-length integer before the last four bytes, and these as a float.
#[inline(always)]
pub(super) fn long_and_float(body: &[u8]) -> Option<Tail<f32>> {
    let value = f32::from_le_bytes(*body.last_chunk()?);
    let (time, begin) = long_before(body, body.len().wrapping_sub(4))?;
    Some(Tail { begin, time, value })
}

/// The variable-length integer before the last eight bytes, and these as a double.
#[inline(always)]
pub(super) fn long_and_double(body: &[u8]) -> Option<Tail<f64>> {
    let value = f64::from_le_bytes(*body.last_chunk()?);
    let (time, begin) = long_before(body, body.len().wrapping_sub(8))?;
    Some(Tail { begin, time, value })
}

/// The zigzag integer that ends at `end`, and its start: its last byte has the high bit clear, the bytes before have it
/// set, and the byte before those has it clear. Up to seven bytes, no branch depends on its length.
#[inline(always)]
fn long_before(body: &[u8], end: usize) -> Option<(i64, usize)> {
    let Some(bytes) = body.get(..end)?.last_chunk() else { return long_of_many_bytes_before(body, end) };
    let word = u64::from_le_bytes(*bytes);
    let ends = !word & HIGH;
    // The highest bit belongs to the integer's last byte; the next one to the byte before the integer.
    let before = ends & (HIGH >> 8);
    if ends >> 63 == 0 || before == 0 {
        return long_of_many_bytes_before(body, end);
    }
    let bits = before.leading_zeros() & !7;
    let packed = compact((word >> (64 - bits)) & !HIGH);
    Some((unzigzag(packed), end - bits as usize / 8))
}

/// The same, byte by byte.
#[inline(never)]
fn long_of_many_bytes_before(body: &[u8], end: usize) -> Option<(i64, usize)> {
    let (last, before) = body.get(..end)?.split_last()?;
    let length = 1 + before.iter().rev().take_while(|byte| **byte >= 0x80).count();
    // The tenth byte holds only the 64th bit.
    if *last >= 0x80 || length > 10 || length == 10 && *last > 1 {
        return None;
    }
    let bytes = body.get(end - length..end)?;
    let packed = bytes.iter().rev().fold(0, |packed, byte| packed << 7 | u64::from(byte & 0x7f));
    Some((unzigzag(packed), end - length))
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Joins eight groups of seven bits, one per byte, into 56 adjacent bits.
#[inline(always)]
fn compact(groups: u64) -> u64 {
    let pairs = (groups & 0x7f00_7f00_7f00_7f00) >> 1 | (groups & 0x007f_007f_007f_007f);
    let fours = (pairs & 0x3fff_0000_3fff_0000) >> 2 | (pairs & 0x0000_3fff_0000_3fff);
    (fours & 0x0fff_ffff_0000_0000) >> 4 | (fours & 0x0000_0000_0fff_ffff)
}
