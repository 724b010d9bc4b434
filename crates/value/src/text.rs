//! An owned byte string.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Maximum length of a string without an allocation, in bytes: three words hold it, its length and a tag.
const INLINE_BYTES_MAX: usize = 22;

/// A byte string, usually UTF-8, which isn't checked. Up to 22 bytes are stored inline.
#[derive(Clone)]
pub struct Text(Bytes);

#[derive(Clone)]
enum Bytes {
    Inline { length: u8, bytes: [u8; INLINE_BYTES_MAX] },
    Heap(Box<[u8]>),
}

const _: () = assert!(size_of::<Text>() == 24);

impl Text {
    /// Copies these bytes.
    #[inline(always)]
    pub fn new(bytes: &[u8]) -> Text {
        let mut inline = [0; INLINE_BYTES_MAX];
        match inline.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Text(Bytes::Inline { length: bytes.len() as u8, bytes: inline })
            }
            None => Text(Bytes::Heap(bytes.into())),
        }
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Bytes::Heap(bytes) => bytes,
        }
    }

    /// The bytes as text, if they are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::new(&[])
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text.as_bytes())
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Text {
        Text::new(bytes)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        text.into_bytes().into()
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Text {
        if bytes.len() <= INLINE_BYTES_MAX { Text::new(&bytes) } else { Text(Bytes::Heap(bytes.into_boxed_slice())) }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}
