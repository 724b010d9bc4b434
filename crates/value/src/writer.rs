//! Writes values one at a time, containers as their heads: what types that implement [`ToValue`] write to.

use crate::encode::put_string;
use crate::wire::put_sized;
use crate::{Decoder, Kind, Limits, Put, ToValue, ValueError};

/// Maximum nesting of types that are written and read: both recurse.
pub(crate) const DEPTH_MAX: u32 = 128;

/// Appends values to a buffer. A container is written as its head; its elements follow as separate values.
///
/// It checks depth, number of elements and length against the default [`Limits`].
#[derive(Debug)]
pub struct ValueWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Position of the first value.
    start: usize,
    depth: u32,
    /// Elements of all containers together; a table's pair counts as two.
    elements: usize,
}

impl<'o> ValueWriter<'o> {
    #[inline]
    pub(crate) fn new(out: &'o mut Vec<u8>) -> ValueWriter<'o> {
        let start = out.len();
        ValueWriter { out, start, depth: 0, elements: 0 }
    }

    /// Appends a scalar, or any other type that builders accept as one value.
    #[inline(always)]
    pub fn put(&mut self, value: impl Put) {
        value.put(self.out);
    }

    /// Appends a string that needn't be UTF-8.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        put_string(self.out, Kind::String, bytes);
    }

    /// Appends a vector's head. The caller then appends this many values, within [`nested`](ValueWriter::nested).
    #[inline]
    pub fn vector(&mut self, len: usize) -> Result<(), ValueError> {
        self.head(Kind::Vector, len, len)
    }

    /// Appends a set's head. The caller then appends this many values, each once, within
    /// [`nested`](ValueWriter::nested).
    #[inline]
    pub fn set(&mut self, len: usize) -> Result<(), ValueError> {
        self.head(Kind::Set, len, len)
    }

    /// Appends a table's head. The caller then appends this many pairs, each a key and a value and each key once,
    /// within [`nested`](ValueWriter::nested).
    #[inline]
    pub fn table(&mut self, len: usize) -> Result<(), ValueError> {
        self.head(Kind::Table, len, len.saturating_mul(2))
    }

    /// Runs `write` one level deeper; fails where types would be nested deeper than 128. Everything that recurses calls
    /// it, so that no value can exhaust the stack.
    #[inline]
    pub fn nested(
        &mut self,
        write: impl FnOnce(&mut ValueWriter<'o>) -> Result<(), ValueError>,
    ) -> Result<(), ValueError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Number of appended bytes.
    pub(crate) fn position(&self) -> usize {
        self.out.len() - self.start
    }

    /// Checks the value that was appended from this position on: duplicates, depth and elements.
    pub(crate) fn check_from(&self, position: usize) -> Result<(), ValueError> {
        let value = self.out.get(self.start + position..).unwrap_or_default();
        let mut decoder = Decoder::new(Limits { depth_max: DEPTH_MAX - self.depth, ..Limits::default() });
        decoder.decode(value).map(drop).map_err(|error| error.moved(position))
    }

    /// Appends a constant head, such as a field's key, and a value or the beginning of one, in one step: one check of
    /// the buffer's capacity and a few stores, since the sizes are constants.
    #[inline(always)]
    pub(crate) fn put_after<const N: usize, const M: usize>(&mut self, head: &[u8; N], content: &[u8; M]) {
        let mut bytes = [0; 48];
        match bytes.get_mut(..N + M).and_then(|place| place.split_first_chunk_mut::<N>()) {
            Some((first, rest)) => {
                *first = *head;
                rest.copy_from_slice(content);
                self.out.extend_from_slice(bytes.get(..N + M).unwrap_or_default());
            }
            None => {
                self.out.extend_from_slice(head);
                self.out.extend_from_slice(content);
            }
        }
    }

    /// Appends a constant head and a value of a tag and eight bytes.
    #[inline(always)]
    pub(crate) fn put_word_after<const N: usize>(&mut self, head: &[u8; N], kind: Kind, word: u64) {
        let mut content = [kind as u8; 9];
        if let Some(place) = content.last_chunk_mut() {
            *place = word.to_be_bytes();
        }
        self.put_after(head, &content);
    }

    /// Appends a constant head and a string.
    #[inline(always)]
    pub(crate) fn put_string_after<const N: usize>(&mut self, head: &[u8; N], text: &[u8]) {
        if text.len() < 0x80 {
            self.put_after(head, &[Kind::String as u8, text.len() as u8]);
            self.out.extend_from_slice(text);
        } else {
            self.out.extend_from_slice(head);
            put_string(self.out, Kind::String, text);
        }
    }

    /// Appends bytes that are whole values, such as a field's key, as they are.
    #[inline(always)]
    pub(crate) fn put_raw<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out.extend_from_slice(bytes);
    }

    /// Checks the length of the appended bytes.
    #[inline]
    pub(crate) fn finish(&self) -> Result<(), ValueError> {
        let (bytes, bytes_max) = (self.position(), Limits::default().bytes_max);
        if bytes > bytes_max as usize {
            return Err(ValueError::TooLong { bytes, bytes_max });
        }
        Ok(())
    }

    #[inline]
    fn head(&mut self, kind: Kind, len: usize, values: usize) -> Result<(), ValueError> {
        self.elements = self.elements.saturating_add(values);
        if self.elements > Limits::default().elements_max as usize {
            return Err(self.too_many());
        }
        put_sized(self.out, kind, len);
        Ok(())
    }

    #[cold]
    fn too_many(&self) -> ValueError {
        ValueError::TooManyElements { position: self.position(), elements_max: Limits::default().elements_max }
    }

    #[cold]
    fn too_deep(&self) -> ValueError {
        ValueError::TooDeep { position: self.position(), depth_max: DEPTH_MAX }
    }
}

/// Encodes a Rust value into the bytes of a value.
///
/// ```
/// let bytes = rawline_value::encode(&("event_1", (42_i64, true)))?;
/// let (name, (number, flag)): (&str, (i64, bool)) = rawline_value::decode(&bytes)?;
/// assert_eq!((name, number, flag), ("event_1", 42, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn encode<T: ToValue + ?Sized>(value: &T) -> Result<Vec<u8>, ValueError> {
    // Most events fit, so that the buffer grows once or not at all.
    let mut out = Vec::with_capacity(256);
    encode_into(value, &mut out)?;
    Ok(out)
}

/// Encodes a Rust value and appends the bytes. After an error, `out` is unchanged. Allocates only while `out` grows.
#[inline]
pub fn encode_into<T: ToValue + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut writer = ValueWriter::new(out);
    let start = writer.start;
    let encoded = value.to_value(&mut writer).and_then(|()| writer.finish());
    if encoded.is_err() {
        out.truncate(start);
    }
    encoded
}
