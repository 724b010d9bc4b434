//! A row with a file of messages: the timed loops, as one type for all rows.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use rkyv::util::AlignedVec;

use crate::cases::Message;
use crate::codec::{Codec, Operation, Row};

/// A row on one case.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The row.
    pub row: Row,
    /// The case's name.
    pub case: &'static str,
    load: fn(&str, usize) -> Result<Box<dyn Load>>,
}

impl Entry {
    /// The row of `C` on the case of `M`.
    pub fn of<M: Message, C: Codec<M> + 'static>() -> Entry {
        Entry { row: C::ROW, case: M::CASE, load: load::<M, C> }
    }

    /// Prepares the first `count_max` of these messages, JSON lines.
    pub fn load(&self, lines: &str, count_max: usize) -> Result<Box<dyn Load>> {
        let name = || format!("{} {} on {}", self.row.format, self.row.name(), self.case);
        (self.load)(lines, count_max).with_context(name)
    }
}

/// Messages that are loaded for a row.
pub trait Load: Send + Sync {
    /// Their number.
    fn count(&self) -> usize;

    /// The bytes of each, as the row writes them. A row without an encoder uses that of the row it is a variant of.
    fn wires(&self) -> &[AlignedVec];

    /// Decodes these bytes, one message each, and compares them with the messages.
    fn verify(&self, wires: &[&[u8]]) -> Result<()>;

    /// Reads the fields of these bytes, one message each, and compares them.
    fn verify_fields(&self, wires: &[&[u8]]) -> Result<()>;

    /// A worker with its own buffers.
    fn worker(&self) -> Result<Box<dyn Worker + '_>>;
}

/// Repeats one operation.
pub trait Worker {
    /// Runs it `count` times, one message after the other, and returns the sum of the results.
    fn run(&mut self, operation: Operation, count: u64) -> Result<u64>;
}

struct Loaded<M: Message, C: Codec<M>> {
    messages: Vec<M>,
    natives: Vec<C::Native>,
    wires: Vec<AlignedVec>,
}

fn load<M: Message, C: Codec<M> + 'static>(lines: &str, count_max: usize) -> Result<Box<dyn Load>> {
    let mut messages = Vec::new();
    let mut natives = Vec::new();
    let mut wires = Vec::new();
    let mut codec = C::new()?;
    for (index, line) in lines.lines().filter(|line| !line.is_empty()).take(count_max).enumerate() {
        let message: M =
            serde_json::from_str(line).with_context(|| format!("message {index} doesn't match the case"))?;
        let native = C::native(&message)?;
        // Aligned, as a program that reads such formats aligns its buffers.
        let mut wire: AlignedVec = AlignedVec::new();
        wire.extend_from_slice(codec.encode(&native)?);
        wires.push(wire);
        natives.push(native);
        messages.push(message);
    }
    ensure!(!messages.is_empty(), "the file has no messages; create it again with lab/cases/generate.py");
    Ok(Box::new(Loaded::<M, C> { messages, natives, wires }))
}

impl<M: Message, C: Codec<M>> Load for Loaded<M, C> {
    fn count(&self) -> usize {
        self.messages.len()
    }

    fn wires(&self) -> &[AlignedVec] {
        &self.wires
    }

    fn verify(&self, wires: &[&[u8]]) -> Result<()> {
        let mut codec = C::new()?;
        ensure!(wires.len() == self.messages.len(), "{} messages for {}", wires.len(), self.messages.len());
        for (index, (wire, expected)) in wires.iter().zip(&self.messages).enumerate() {
            let decoded = codec.decode(wire).with_context(|| format!("message {index}"))?;
            let found = C::message(decoded).with_context(|| format!("message {index}"))?;
            // Postcard's bytes hold a float's bits and whether a field is present, and nothing else.
            let same = postcard::to_stdvec(expected)? == postcard::to_stdvec(&found)?;
            ensure!(same, "message {index} differs: expected {expected:?}, found {found:?}");
        }
        Ok(())
    }

    fn verify_fields(&self, wires: &[&[u8]]) -> Result<()> {
        let mut codec = C::new()?;
        for (index, (wire, expected)) in wires.iter().zip(&self.messages).enumerate() {
            if C::ROW.has(Operation::Field) {
                let (found, expected) = (codec.field(wire)?, C::one(expected)?);
                ensure!(found == expected, "message {index}: the one field sums up to {found:#x}, not {expected:#x}");
            }
            if C::ROW.has(Operation::Fields) {
                let (found, expected) = (codec.fields(wire)?, C::sum(expected)?);
                ensure!(found == expected, "message {index}: the fields sum up to {found:#x}, not {expected:#x}");
            }
        }
        Ok(())
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>> {
        Ok(Box::new(Working::<M, C> { loaded: self, codec: C::new()?, next: 0 }))
    }
}

struct Working<'l, M: Message, C: Codec<M>> {
    loaded: &'l Loaded<M, C>,
    codec: C,
    /// The next message.
    next: usize,
}

impl<M: Message, C: Codec<M>> Worker for Working<'_, M, C> {
    fn run(&mut self, operation: Operation, count: u64) -> Result<u64> {
        let Working { loaded, codec, next } = self;
        match operation {
            Operation::Encode => cycle(&loaded.natives, next, count, |native| {
                let bytes = codec.encode(native)?;
                Ok(black_box(bytes).len() as u64)
            }),
            Operation::Decode => cycle(&loaded.wires, next, count, |wire| {
                black_box(&codec.decode(wire)?);
                Ok(1)
            }),
            Operation::Field => cycle(&loaded.wires, next, count, |wire| codec.field(wire)),
            Operation::Fields => cycle(&loaded.wires, next, count, |wire| codec.fields(wire)),
        }
    }
}

/// Goes round robin through `all`.
#[inline(always)]
fn cycle<T>(all: &[T], next: &mut usize, count: u64, mut each: impl FnMut(&T) -> Result<u64>) -> Result<u64> {
    let mut sum = 0u64;
    for _ in 0..count {
        let Some(one) = all.get(*next) else {
            anyhow::bail!("no messages");
        };
        // The compiler must assume that every message differs.
        sum = sum.wrapping_add(black_box(each(black_box(one))?));
        *next += 1;
        if *next == all.len() {
            *next = 0;
        }
    }
    Ok(sum)
}
