//! Writes fields of a response.

/// Maximum length of a string in bytes: what clients accept in every version.
pub const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// A response, or a part of one.
pub struct Writer {
    bytes: Vec<u8>,
    is_flexible: bool,
}

impl Writer {
    pub fn new(is_flexible: bool) -> Writer {
        Writer::after(Vec::new(), is_flexible)
    }

    /// Writes after these bytes.
    pub fn after(bytes: Vec<u8>, is_flexible: bool) -> Writer {
        Writer { bytes, is_flexible }
    }

    pub fn is_flexible(&self) -> bool {
        self.is_flexible
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    pub fn i8(&mut self, value: i8) {
        self.bytes.push(value as u8);
    }

    pub fn i16(&mut self, value: i16) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub fn i32(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub fn i64(&mut self, value: i64) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub fn id(&mut self, id: &[u8; 16]) {
        self.bytes.extend(id);
    }

    pub fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// The number of elements that follow.
    pub fn count(&mut self, count: usize) {
        self.nullable_count(Some(count));
    }

    pub fn nullable_count(&mut self, count: Option<usize>) {
        let count = count.map_or(Ok(-1), i32::try_from).unwrap_or_else(|_| unreachable!("{count:?} elements"));
        if self.is_flexible { self.varint((count + 1) as u32) } else { self.i32(count) }
    }

    /// The length of bytes that follow.
    pub fn bytes_length(&mut self, length: usize) {
        self.count(length);
    }

    pub fn nullable_bytes(&mut self, value: Option<&[u8]>) {
        self.nullable_count(value.map(<[u8]>::len));
        self.raw(value.unwrap_or_default());
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Strings of a response come from requests, and are no longer than those; only a message that quotes one can be.
    /// It is cut.
    pub fn nullable_string(&mut self, value: Option<&str>) {
        let value = value.map(|value| value.split_at(value.floor_char_boundary(STRING_BYTES_MAX)).0);
        let length = value.map_or(-1, |value| value.len() as i16);
        if self.is_flexible {
            self.varint((i32::from(length) + 1) as u32);
        } else {
            self.i16(length);
        }
        self.raw(value.unwrap_or_default().as_bytes());
    }

    pub fn string(&mut self, value: &str) {
        self.nullable_string(Some(value));
    }

    /// No tagged fields.
    pub fn no_tags(&mut self) {
        if self.is_flexible {
            self.varint(0);
        }
    }
}
