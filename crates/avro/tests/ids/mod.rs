//! A table of strings for the tests of dictionaries. The product's is in `rawline-series`, which sees this crate.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rawline_avro::{FaultKind, StringIds};

#[derive(Debug)]
pub struct Ids {
    strings_max: usize,
    bytes_max: usize,
    /// Strings live as long as the test's process, so that `get` can lend them without the lock.
    known: Mutex<(HashMap<&'static str, u32>, Vec<&'static str>)>,
}

impl Ids {
    pub fn new(strings_max: usize) -> Arc<Self> {
        Self::with_bytes(strings_max, 1 << 20)
    }

    pub fn with_bytes(strings_max: usize, bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { strings_max, bytes_max, known: Mutex::default() })
    }
}

impl StringIds for Ids {
    fn intern(&self, bytes: &[u8]) -> Result<u32, FaultKind> {
        let text = str::from_utf8(bytes).map_err(|_| FaultKind::Utf8)?;
        let mut known = self.known.lock().unwrap();
        if let Some(id) = known.0.get(text) {
            return Ok(*id);
        }
        if known.1.len() == self.strings_max {
            return Err(FaultKind::StringsFull);
        }
        let (id, text) = (known.1.len() as u32, &*text.to_owned().leak());
        known.0.insert(text, id);
        known.1.push(text);
        Ok(id)
    }

    fn get(&self, id: u32) -> Option<&str> {
        self.known.lock().unwrap().1.get(id as usize).copied()
    }

    fn len(&self) -> u32 {
        self.known.lock().unwrap().1.len() as u32
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max
    }
}
