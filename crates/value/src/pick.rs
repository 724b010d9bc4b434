//! Reads one value within a large one and checks only the bytes before it.

use crate::item::{Item, ItemReader};
use crate::{Decoder, Kind, ValueError, Variant};

/// One step of a path into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'n> {
    /// The element of a vector at this index.
    Index(usize),
    /// The value of a table under this key.
    Key(&'n str),
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

impl<'n> From<&'n str> for Step<'n> {
    fn from(key: &'n str) -> Self {
        Step::Key(key)
    }
}

impl Decoder {
    /// The value at the end of a path, or `None` if it doesn't exist. The bytes after it aren't read, so they cost
    /// nothing; the bytes before it are skipped, and only their lengths and tags are checked. So bytes that
    /// [`Decoder::decode`] rejects can have a result; for valid bytes, it is the value that a view has there.
    ///
    /// Elements and pairs are skipped one by one in the order of the bytes: a tree writes pairs ascending by key, a
    /// builder as given. Put a field that is read this way before fields that grow.
    pub fn pick<'a>(&'a mut self, bytes: &'a [u8], path: &[Step<'_>]) -> Result<Option<Variant<'a>>, ValueError> {
        let mut reader = ItemReader::new(bytes, self.limits())?;
        for step in path {
            let found = match *step {
                Step::Index(index) => reader.skip_to_index(index)?,
                Step::Key(key) => reader.skip_to_key(key.as_bytes())?,
            };
            if !found {
                return Ok(None);
            }
        }
        let rest = reader.rest();
        self.decode_first(rest).map(Some).map_err(|error| error.moved(bytes.len() - rest.len()))
    }
}

impl ItemReader<'_> {
    /// Takes a vector's head and the elements before this one. Takes only the head if the vector is shorter.
    fn skip_to_index(&mut self, index: usize) -> Result<bool, ValueError> {
        match self.item()? {
            Item::Vector(elements) if index < elements => {
                for _ in 0..index {
                    self.value()?;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Takes a table's head, the pairs before the one with this key, and the key.
    fn skip_to_key(&mut self, wanted: &[u8]) -> Result<bool, ValueError> {
        let Item::Table(pairs) = self.item()? else { return Ok(false) };
        for _ in 0..pairs {
            let is_string = self.rest().first() == Some(&(Kind::String as u8));
            let key = self.text()?;
            if is_string && key == Some(wanted) {
                return Ok(true);
            }
            if key.is_none() {
                self.value()?;
            }
            self.value()?;
        }
        Ok(false)
    }
}
