//! A plan: how messages of a writer's schema are read as a reader's schema, as one flat list of steps.
//!
//! A step that reads a value names the `slot` that takes it: the field's index within the reader's record that is being
//! filled, and 0 within an element, a map's value or a union's branch. What begins a level (record, array, map, branch,
//! constant) names its `body`, the steps of that level, which stop at an `End`, and `next`, the step after it. A
//! recursive type's body is entered again from within itself; nothing else jumps backwards.

use std::sync::Arc;

use crate::error::{DecodeError, Fault};
use crate::limits::Limits;
use crate::schema::Schema;

/// A compiled plan for reading messages of one schema as another.
#[derive(Debug)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Where each step is, as an index in `paths`: for errors.
    pub(crate) places: Vec<u32>,
    /// What a union's branch leads to; each union has a range of it.
    pub(crate) branches: Vec<Branch>,
    /// For each symbol of a writer's enum the reader's; each enum has a range of it.
    pub(crate) symbols: Vec<Option<u32>>,
    /// Encoded defaults; each constant has a range of it.
    pub(crate) constants: Vec<u8>,
    pub(crate) paths: Vec<PathNode>,
    pub(crate) writer: Arc<Schema>,
    pub(crate) reader: Arc<Schema>,
    pub(crate) limits: Limits,
}

/// One step of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Which slot of the level takes the value. Meaningless for `Skip` and `End`.
    pub slot: u32,
    pub code: Code,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Reads a value without parts.
    Read(Scalar),
    /// Skips a value that the reader does not take.
    Skip(Skip),
    /// Begins a record with this many slots.
    Record { slots: u32, body: u32, next: u32 },
    /// Reads blocks of elements, each of which takes at least `bytes_min`.
    Array { bytes_min: u32, body: u32, next: u32 },
    /// Reads blocks of a string key and a value, which together take at least `bytes_min`.
    Map { bytes_min: u32, body: u32, next: u32 },
    /// Reads a branch's index and goes where `branches[first..first + count]` says.
    Union { first: u32, count: u32, next: u32 },
    /// The reader's union around a value that the writer wrote without one.
    Wrap { branch: u32, body: u32, next: u32 },
    /// A default: the body reads `constants[begin..]` instead of the message.
    Constant { begin: u32, body: u32, next: u32 },
    /// Skips blocks of elements (of map entries if `keys`): by their size in bytes where the block has it.
    SkipBlocks { keys: bool, bytes_min: u32, body: u32, next: u32 },
    /// Skips a union's value.
    SkipUnion { first: u32, count: u32, next: u32 },
    /// Skips a record that contains itself.
    SkipRecord { body: u32, next: u32 },
    /// Ends a level.
    End,
}

/// A value without parts: what the writer wrote and what the reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(u32),
    /// `symbols[first..first + count]`.
    Enum {
        first: u32,
        count: u32,
    },
    IntToLong,
    IntToFloat,
    IntToDouble,
    LongToFloat,
    LongToDouble,
    FloatToDouble,
    StringToBytes,
    BytesToString,
}

/// A value without parts that is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    /// An integer of any length.
    Long,
    /// A length and that many bytes.
    Bytes,
    /// That many bytes.
    Fixed(u32),
}

/// What a union's branch leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The value is read by the steps at `body`, straight into the union's own slot: the reader has no union.
    Plain { body: u32 },
    /// The value is read by the steps at `body` as the reader's branch `index`.
    Wrapped { index: u32, body: u32 },
    /// The reader has no matching type.
    Missing,
}

/// A path's last segment and the path before it. Node 0 is the message itself.
#[derive(Debug, Clone)]
pub(crate) struct PathNode {
    pub parent: u32,
    pub segment: Segment,
}

#[derive(Debug, Clone)]
pub(crate) enum Segment {
    Root,
    Field(String),
    Items,
    Value,
}

impl Plan {
    /// The schema that wrote the messages.
    pub fn writer(&self) -> &Arc<Schema> {
        &self.writer
    }

    /// The reader's schema.
    pub fn reader(&self) -> &Arc<Schema> {
        &self.reader
    }

    /// The limits for one message.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The fault at `step`, with its path. `calls` are the records around it, innermost first: the step that began
    /// each, and its body. A body is shared by all that enter it, so a step's own path may be that of another place.
    #[cold]
    pub(crate) fn error(&self, step: u32, calls: impl Iterator<Item = (u32, u32)>, fault: Fault) -> DecodeError {
        let mut segments = Vec::new();
        let mut at = step;
        for (caller, body) in calls {
            // A body follows the step that it was made for.
            self.segments(self.place(at), self.place(body.saturating_sub(1)), &mut segments);
            at = caller;
        }
        self.segments(self.place(at), 0, &mut segments);
        DecodeError { path: join(&segments), fault }
    }

    /// A node of `paths` as text, such as `items[].price`.
    pub(crate) fn path(&self, node: u32) -> String {
        let mut segments = Vec::new();
        self.segments(node, 0, &mut segments);
        join(&segments)
    }

    fn place(&self, step: u32) -> u32 {
        self.places.get(step as usize).copied().unwrap_or_default()
    }

    /// The segments from `node` up to `around`, innermost first.
    fn segments<'a>(&'a self, node: u32, around: u32, segments: &mut Vec<&'a Segment>) {
        let mut at = node;
        while at != around
            && let Some(PathNode { parent, segment }) = self.paths.get(at as usize)
            && !matches!(segment, Segment::Root)
        {
            segments.push(segment);
            at = *parent;
        }
    }
}

/// Segments, innermost first, as text.
pub(crate) fn join(segments: &[&Segment]) -> String {
    let mut path = String::new();
    for segment in segments.iter().rev() {
        let name = match segment {
            Segment::Root => continue,
            Segment::Items => {
                path.push_str("[]");
                continue;
            }
            Segment::Field(name) => name,
            Segment::Value => "value",
        };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    }
    path
}
