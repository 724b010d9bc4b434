//! Values for the fields of messages.

use bytes::Bytes;
use fastrand::Rng;
use rawline_kafka::WireError;
use rawline_kafka::messages::{Source, Uuid};

/// How fields are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Zero, empty strings, no elements.
    Empty,
    /// Null where it may be, one element in other arrays.
    Null,
    /// Values that differ, two elements, now and then null; all tagged fields.
    Several,
    /// Anything.
    Random,
}

/// Fills the fields of messages.
pub struct Values {
    fill: Fill,
    /// Only such messages have tagged fields.
    is_flexible: bool,
    random: Rng,
    last: i64,
}

impl Values {
    pub fn new(fill: Fill, is_flexible: bool, seed: u64) -> Values {
        Values { fill, is_flexible, random: Rng::with_seed(seed), last: 0 }
    }

    fn number(&mut self) -> i64 {
        match self.fill {
            Fill::Empty | Fill::Null => 0,
            Fill::Several => {
                self.last += 1;
                self.last
            }
            Fill::Random => self.random.i64(..) >> self.random.u32(..64),
        }
    }

    fn is_null(&mut self, is_nullable: bool) -> bool {
        let null = match self.fill {
            Fill::Empty => false,
            Fill::Null => true,
            Fill::Several => self.number() % 4 == 0,
            Fill::Random => self.random.bool(),
        };
        null && is_nullable
    }

    fn length(&mut self) -> usize {
        if self.random.u8(..) < 8 { self.random.usize(100..400) } else { self.random.usize(..20) }
    }
}

impl Source for Values {
    fn bool(&mut self) -> Result<bool, WireError> {
        Ok(self.number() % 2 != 0)
    }

    fn i8(&mut self) -> Result<i8, WireError> {
        Ok(self.number() as i8)
    }

    fn i16(&mut self) -> Result<i16, WireError> {
        Ok(self.number() as i16)
    }

    fn i32(&mut self) -> Result<i32, WireError> {
        Ok(self.number() as i32)
    }

    fn i64(&mut self) -> Result<i64, WireError> {
        Ok(self.number())
    }

    fn uuid(&mut self) -> Result<Uuid, WireError> {
        let numbers = [self.number().to_be_bytes(), self.number().to_be_bytes()];
        Ok(Uuid(numbers.concat().try_into().expect("16 bytes")))
    }

    fn string(&mut self, is_nullable: bool) -> Result<Option<String>, WireError> {
        if self.is_null(is_nullable) {
            return Ok(None);
        }
        Ok(Some(match self.fill {
            Fill::Empty | Fill::Null => String::new(),
            Fill::Several => format!("s{}", self.number()),
            Fill::Random => {
                (0..self.length()).map(|_| self.random.choice(['a', 'Z', '9', 'ß']).expect("one")).collect()
            }
        }))
    }

    fn bytes(&mut self, is_nullable: bool) -> Result<Option<Bytes>, WireError> {
        if self.fill != Fill::Random || self.is_null(is_nullable) {
            return Ok(self.string(is_nullable)?.map(Bytes::from));
        }
        let mut bytes = vec![0; self.length()];
        self.random.fill(&mut bytes);
        Ok(Some(bytes.into()))
    }

    fn count(&mut self, element_bytes: usize, is_nullable: bool) -> Result<Option<usize>, WireError> {
        if self.is_null(is_nullable) {
            return Ok(None);
        }
        Ok(Some(match self.fill {
            Fill::Empty => 0,
            Fill::Null => 1,
            Fill::Several => 2,
            Fill::Random if element_bytes <= 4 && self.random.u8(..) < 8 => self.random.usize(100..200),
            Fill::Random => self.random.usize(..4),
        }))
    }

    fn is_present(&mut self) -> Result<bool, WireError> {
        Ok(!self.is_null(true))
    }

    fn tags(&mut self, mut read: impl FnMut(&mut Self, u32) -> Result<bool, WireError>) -> Result<(), WireError> {
        for tag in 0..4 {
            let chosen = match self.fill {
                Fill::Empty | Fill::Null => false,
                Fill::Several => true,
                Fill::Random => self.random.bool(),
            };
            if chosen && self.is_flexible {
                read(self, tag)?;
            }
        }
        Ok(())
    }
}
