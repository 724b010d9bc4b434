//! Runs a plan over a message: every value is checked and handed to a sink.
//!
//! The levels of the message (records, arrays, maps, branches) are on an explicit stack of limited height: this code
//! doesn't recurse.

use crate::cursor::Cursor;
use crate::error::{DecodeError, Fault, FaultKind};
use crate::plan::{Branch, Code, Plan, Scalar, Skip, Step};

/// Takes a message's values in the order in which they were written.
///
/// `slot` is the position in the innermost level: a record's field by the reader's index, and 0 for an element, a map's
/// value, a branch and the message itself. Each slot of a record is filled exactly once before the record ends.
pub(crate) trait Sink<'m> {
    /// State that a sink needs to continue after a level.
    type Mark: Copy;

    fn null(&mut self, slot: u32);
    fn boolean(&mut self, slot: u32, value: bool);
    fn int(&mut self, slot: u32, value: i32);
    fn long(&mut self, slot: u32, value: i64);
    fn float(&mut self, slot: u32, value: f32);
    fn double(&mut self, slot: u32, value: f64);
    fn bytes(&mut self, slot: u32, value: &'m [u8]);
    fn string(&mut self, slot: u32, value: &'m str);
    fn fixed(&mut self, slot: u32, value: &'m [u8]);
    /// An enum's symbol by the reader's index.
    fn symbol(&mut self, slot: u32, value: u32);

    fn record_begin(&mut self, slot: u32, slots: u32) -> Self::Mark;
    fn record_end(&mut self, mark: Self::Mark);
    /// A union's value follows, in the reader's branch `branch`.
    fn branch_begin(&mut self, slot: u32, branch: u32) -> Self::Mark;
    fn branch_end(&mut self, mark: Self::Mark);
    fn array_begin(&mut self, slot: u32) -> Self::Mark;
    /// An element of the innermost array follows.
    fn element(&mut self);
    fn array_end(&mut self, mark: Self::Mark, count: u32);
    fn map_begin(&mut self, slot: u32) -> Self::Mark;
    /// A value of the innermost map follows, under this key.
    fn key(&mut self, key: &'m str);
    fn map_end(&mut self, mark: Self::Mark, count: u32);
    /// Reads `count` entries of a map of strings, one by one unless the sink has a faster way.
    fn texts(&mut self, count: u32, cursor: &mut Cursor<'m>) -> Result<(), Fault> {
        for _ in 0..count {
            self.key(cursor.string()?);
            self.string(0, cursor.string()?);
        }
        Ok(())
    }
    /// About this many elements follow.
    fn reserve(&mut self, elements: usize) {
        let _ = elements;
    }
}

/// An open level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level<M> {
    /// The step that began it, and its first step.
    step: u32,
    body: u32,
    next: u32,
    kind: LevelKind<M>,
}

#[derive(Debug, Clone, Copy)]
enum LevelKind<M> {
    Record(M),
    SkipRecord,
    Branch(M),
    /// A branch of the writer's union where the reader has no union.
    Plain,
    /// The reader's default. Afterwards, reading continues at this position of the message.
    Constant(usize),
    Blocks {
        mark: M,
        keys: bool,
        bytes_min: u32,
        block: Block,
        count: u32,
    },
    SkipBlocks {
        keys: bool,
        bytes_min: u32,
        block: Block,
    },
}

/// The rest of a block of elements.
#[derive(Debug, Clone, Copy)]
struct Block {
    left: u64,
    /// Its declared end, if any, and its start.
    end: Option<usize>,
    begin: usize,
}

impl Block {
    /// Before the first block.
    const NONE: Self = Self { left: 0, end: None, begin: 0 };
}

/// Reads one message at the cursor and leaves the cursor after it. `levels` is reused memory, empty at first.
#[inline]
pub(crate) fn decode<'m, S: Sink<'m>>(
    plan: &'m Plan,
    cursor: &mut Cursor<'m>,
    levels: &mut Vec<Level<S::Mark>>,
    sink: &mut S,
) -> Result<(), DecodeError> {
    levels.clear();
    let limits = plan.limits();
    let mut run = Run {
        plan,
        message: cursor.message(),
        cursor: cursor.clone(),
        levels,
        sink,
        step: 0,
        elements_left: limits.elements_max,
        depth_max: limits.depth_max as usize,
    };
    match run.all() {
        Ok(()) => {
            cursor.go_to(&run.cursor);
            Ok(())
        }
        Err(fault) => Err(run.refuse(fault)),
    }
}

struct Run<'m, 'r, S: Sink<'m>> {
    plan: &'m Plan,
    message: &'m [u8],
    cursor: Cursor<'m>,
    levels: &'r mut Vec<Level<S::Mark>>,
    sink: &'r mut S,
    step: u32,
    elements_left: u32,
    depth_max: usize,
}

impl<'m, S: Sink<'m>> Run<'m, '_, S> {
    fn all(&mut self) -> Result<(), Fault> {
        let steps = self.plan.steps.as_slice();
        let mut at = self.step;
        while let Some(Step { slot, code }) = steps.get(at as usize).copied() {
            self.step = at;
            at = match code {
                Code::Read(Scalar::Long) => {
                    self.sink.long(slot, self.cursor.long()?);
                    at + 1
                }
                Code::Read(Scalar::String) => {
                    self.sink.string(slot, self.cursor.string()?);
                    at + 1
                }
                Code::Read(scalar) => {
                    self.scalar(scalar, slot)?;
                    at + 1
                }
                Code::Skip(skip) => {
                    self.skip(skip)?;
                    at + 1
                }
                Code::Record { slots, body, next } => {
                    self.room()?;
                    self.charge(u64::from(slots))?;
                    let mark = self.sink.record_begin(slot, slots);
                    self.enter(body, next, LevelKind::Record(mark))
                }
                Code::Array { bytes_min, body, next } => {
                    self.room()?;
                    let mark = self.sink.array_begin(slot);
                    self.blocks(mark, false, bytes_min, body, next)?
                }
                Code::Map { bytes_min, body, next } => {
                    self.room()?;
                    let mark = self.sink.map_begin(slot);
                    self.blocks(mark, true, bytes_min, body, next)?
                }
                Code::Union { first, count, next } => match self.branch(first, count)? {
                    Branch::Plain { body } => self.plain(body, next)?,
                    Branch::Wrapped { index, body } => self.wrapped(slot, index, body, next)?,
                    Branch::Missing => return Err(self.cursor.fault(FaultKind::Unresolvable)),
                },
                Code::Wrap { branch, body, next } => self.wrapped(slot, branch, body, next)?,
                Code::Constant { begin, body, next } => {
                    self.room()?;
                    let position = self.cursor.position();
                    self.cursor = Cursor::at(&self.plan.constants, begin as usize);
                    self.enter(body, next, LevelKind::Constant(position))
                }
                Code::SkipBlocks { keys, bytes_min, body, next } => {
                    self.room()?;
                    self.enter(body, next, LevelKind::SkipBlocks { keys, bytes_min, block: Block::NONE });
                    self.skip_element()?
                }
                Code::SkipUnion { first, count, next } => match self.branch(first, count)? {
                    Branch::Plain { body } => self.plain(body, next)?,
                    _ => return Err(self.cursor.fault(FaultKind::Branch)),
                },
                Code::SkipRecord { body, next } => {
                    self.room()?;
                    self.enter(body, next, LevelKind::SkipRecord)
                }
                Code::End => {
                    let Some(Level { next, kind, .. }) = self.levels.last() else { return Ok(()) };
                    let next = *next;
                    match *kind {
                        LevelKind::Blocks { .. } => self.element()?,
                        LevelKind::SkipBlocks { .. } => self.skip_element()?,
                        LevelKind::Record(mark) => {
                            self.sink.record_end(mark);
                            self.leave(next)
                        }
                        LevelKind::Branch(mark) => {
                            self.sink.branch_end(mark);
                            self.leave(next)
                        }
                        LevelKind::Constant(position) => {
                            self.cursor = Cursor::at(self.message, position);
                            self.leave(next)
                        }
                        LevelKind::Plain | LevelKind::SkipRecord => self.leave(next),
                    }
                }
            };
        }
        Ok(())
    }

    /// Begins a level; returns its first step. Like the functions below, it returns the step to continue with.
    #[inline]
    fn enter(&mut self, body: u32, next: u32, kind: LevelKind<S::Mark>) -> u32 {
        self.levels.push(Level { step: self.step, body, next, kind });
        body
    }

    #[inline]
    fn leave(&mut self, next: u32) -> u32 {
        self.levels.pop();
        next
    }

    /// Fails if the maximum depth is reached.
    #[inline]
    fn room(&self) -> Result<(), Fault> {
        if self.levels.len() < self.depth_max { Ok(()) } else { Err(self.cursor.fault(FaultKind::Depth)) }
    }

    #[inline]
    fn charge(&mut self, elements: u64) -> Result<(), Fault> {
        match u32::try_from(elements).ok().and_then(|elements| self.elements_left.checked_sub(elements)) {
            Some(left) => {
                self.elements_left = left;
                Ok(())
            }
            None => Err(self.cursor.fault(FaultKind::Elements)),
        }
    }

    /// The step at `body`, if it is the body's only step.
    #[inline]
    fn lone(&self, body: u32) -> Option<Code> {
        let steps = self.plan.steps.get(body as usize..)?;
        match steps {
            [step, Step { code: Code::End, .. }, ..] => Some(step.code),
            _ => None,
        }
    }

    #[inline]
    fn branch(&mut self, first: u32, count: u32) -> Result<Branch, Fault> {
        let begin = self.cursor.position();
        let index = self.cursor.long()?;
        let branch = u32::try_from(index).ok().filter(|index| *index < count);
        let branch = branch.and_then(|index| self.plan.branches.get((first + index) as usize));
        branch.copied().ok_or(Fault { kind: FaultKind::Branch, position: begin })
    }

    #[inline]
    fn plain(&mut self, body: u32, next: u32) -> Result<u32, Fault> {
        self.room()?;
        Ok(self.enter(body, next, LevelKind::Plain))
    }

    #[inline]
    fn wrapped(&mut self, slot: u32, branch: u32, body: u32, next: u32) -> Result<u32, Fault> {
        self.room()?;
        self.charge(1)?;
        let mark = self.sink.branch_begin(slot, branch);
        if let Some(Code::Read(scalar)) = self.lone(body) {
            self.scalar(scalar, 0)?;
            self.sink.branch_end(mark);
            Ok(next)
        } else {
            Ok(self.enter(body, next, LevelKind::Branch(mark)))
        }
    }

    /// Reads the whole array or map if its elements are scalars; otherwise begins its level.
    fn blocks(&mut self, mark: S::Mark, keys: bool, bytes_min: u32, body: u32, next: u32) -> Result<u32, Fault> {
        let Some(Code::Read(scalar)) = self.lone(body) else {
            self.enter(body, next, LevelKind::Blocks { mark, keys, bytes_min, block: Block::NONE, count: 0 });
            return self.element();
        };
        let mut total = 0;
        let outer = self.step;
        loop {
            let block = self.block(bytes_min)?;
            let Some(count) = self.count(block)? else { break };
            total += count;
            self.sink.reserve(count as usize * (1 + usize::from(keys)));
            self.step = body;
            match (keys, scalar) {
                (true, Scalar::String) => self.sink.texts(count, &mut self.cursor)?,
                (true, _) => {
                    for _ in 0..count {
                        self.sink.key(self.cursor.string()?);
                        self.scalar(scalar, 0)?;
                    }
                }
                (false, _) => {
                    for _ in 0..count {
                        self.sink.element();
                        self.scalar(scalar, 0)?;
                    }
                }
            }
            self.step = outer;
            self.block_end(block)?;
        }
        self.blocks_end(mark, keys, total);
        Ok(next)
    }

    #[inline]
    fn blocks_end(&mut self, mark: S::Mark, keys: bool, count: u32) {
        if keys {
            self.sink.map_end(mark, count);
        } else {
            self.sink.array_end(mark, count);
        }
    }

    /// Goes to the next element of the innermost array or map, or to the step after it.
    fn element(&mut self) -> Result<u32, Fault> {
        let Some(Level { step, body, next, kind: LevelKind::Blocks { mark, keys, bytes_min, block, count } }) =
            self.levels.last().copied()
        else {
            return Ok(self.step);
        };
        let (mut block, mut count) = (block, count);
        if block.left == 0 {
            self.step = step;
            self.block_end(block)?;
            block = self.block(bytes_min)?;
            match self.count(block)? {
                Some(more) => {
                    count += more;
                    self.sink.reserve(more as usize * (1 + usize::from(keys)));
                }
                None => {
                    self.blocks_end(mark, keys, count);
                    return Ok(self.leave(next));
                }
            }
        }
        block.left -= 1;
        if let Some(level) = self.levels.last_mut() {
            level.kind = LevelKind::Blocks { mark, keys, bytes_min, block, count };
        }
        self.step = body;
        if keys {
            self.sink.key(self.cursor.string()?);
        } else {
            self.sink.element();
        }
        Ok(body)
    }

    /// Goes to the next skipped element, or to the step after the skipped array or map.
    fn skip_element(&mut self) -> Result<u32, Fault> {
        let Some(Level { step, body, next, kind: LevelKind::SkipBlocks { keys, bytes_min, mut block } }) =
            self.levels.last().copied()
        else {
            return Ok(self.step);
        };
        self.step = step;
        while block.left == 0 {
            block = self.block(bytes_min)?;
            if block.left == 0 {
                return Ok(self.leave(next));
            }
            if let Some(end) = block.end {
                self.cursor.fixed(end - self.cursor.position())?;
                block = Block { left: 0, end: None, begin: end };
                continue;
            }
            // Empty elements, and those of a fixed size, are not visited one by one.
            let size = match self.plan.steps.get(body as usize).map(|step| step.code) {
                Some(Code::End) => Some(0),
                _ => match self.lone(body) {
                    Some(Code::Skip(Skip::Fixed(size))) => Some(size),
                    _ => None,
                },
            };
            if let Some(size) = size.filter(|_| !keys) {
                // `block` has checked that this many bytes are left.
                self.cursor.fixed(usize::try_from(block.left * u64::from(size)).unwrap_or(usize::MAX))?;
                block.left = 0;
            }
        }
        block.left -= 1;
        if let Some(level) = self.levels.last_mut() {
            level.kind = LevelKind::SkipBlocks { keys, bytes_min, block };
        }
        self.step = body;
        if keys {
            self.cursor.bytes()?;
        }
        Ok(body)
    }

    /// Reads a block's count; fails if its elements can't all be in the message. 0 elements end the blocks.
    #[inline(always)]
    fn block(&mut self, bytes_min: u32) -> Result<Block, Fault> {
        let begin = self.cursor.position();
        let (left, size) = self.cursor.block()?;
        let bytes = left.checked_mul(u64::from(bytes_min));
        let room = size.unwrap_or_else(|| self.cursor.rest().len());
        if bytes.is_none_or(|bytes| bytes > room as u64) {
            return Err(Fault { kind: FaultKind::Length, position: begin });
        }
        Ok(Block { left, end: size.map(|size| self.cursor.position() + size), begin })
    }

    /// A block's number of elements, charged against the limit; `None` for the empty block at the end.
    #[inline]
    fn count(&mut self, block: Block) -> Result<Option<u32>, Fault> {
        if block.left == 0 {
            return Ok(None);
        }
        self.charge(block.left).map_err(|fault| Fault { position: block.begin, ..fault })?;
        // `charge` has checked that it fits.
        Ok(u32::try_from(block.left).ok())
    }

    /// Fails if a block doesn't have its declared size.
    #[inline]
    fn block_end(&self, block: Block) -> Result<(), Fault> {
        match block.end {
            Some(end) if end != self.cursor.position() => Err(Fault { kind: FaultKind::Length, position: block.begin }),
            _ => Ok(()),
        }
    }

    #[inline]
    fn scalar(&mut self, scalar: Scalar, slot: u32) -> Result<(), Fault> {
        let Self { cursor, sink, .. } = self;
        match scalar {
            Scalar::Null => sink.null(slot),
            Scalar::Boolean => sink.boolean(slot, cursor.boolean()?),
            Scalar::Int => sink.int(slot, cursor.int()?),
            Scalar::Long => sink.long(slot, cursor.long()?),
            Scalar::Float => sink.float(slot, cursor.float()?),
            Scalar::Double => sink.double(slot, cursor.double()?),
            Scalar::Bytes | Scalar::StringToBytes => sink.bytes(slot, cursor.bytes()?),
            Scalar::String | Scalar::BytesToString => sink.string(slot, cursor.string()?),
            Scalar::Fixed(size) => sink.fixed(slot, cursor.fixed(size as usize)?),
            Scalar::Enum { first, count } => {
                let symbol = self.symbol(first, count)?;
                self.sink.symbol(slot, symbol);
            }
            Scalar::IntToLong => sink.long(slot, i64::from(cursor.int()?)),
            Scalar::IntToFloat => sink.float(slot, cursor.int()? as f32),
            Scalar::IntToDouble => sink.double(slot, f64::from(cursor.int()?)),
            Scalar::LongToFloat => sink.float(slot, cursor.long()? as f32),
            Scalar::LongToDouble => sink.double(slot, cursor.long()? as f64),
            Scalar::FloatToDouble => sink.double(slot, f64::from(cursor.float()?)),
        }
        Ok(())
    }

    fn symbol(&mut self, first: u32, count: u32) -> Result<u32, Fault> {
        let begin = self.cursor.position();
        let index = self.cursor.int()?;
        let index = u32::try_from(index).ok().filter(|index| *index < count);
        match index.and_then(|index| self.plan.symbols.get((first + index) as usize)) {
            Some(Some(symbol)) => Ok(*symbol),
            Some(None) => Err(Fault { kind: FaultKind::Unresolvable, position: begin }),
            None => Err(Fault { kind: FaultKind::Branch, position: begin }),
        }
    }

    #[inline]
    fn skip(&mut self, skip: Skip) -> Result<(), Fault> {
        match skip {
            Skip::Long => self.cursor.long().map(drop),
            Skip::Bytes => self.cursor.bytes().map(drop),
            Skip::Fixed(size) => self.cursor.fixed(size as usize).map(drop),
        }
    }

    #[cold]
    fn refuse(&self, fault: Fault) -> DecodeError {
        let records = self.levels.iter().rev();
        let records = records.filter(|level| matches!(level.kind, LevelKind::Record(_) | LevelKind::SkipRecord));
        self.plan.error(self.step, records.map(|level| (level.step, level.body)), fault)
    }
}
