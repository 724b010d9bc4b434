//! A plan: one flat list of steps that reads messages of a writer's schema as a reader's schema.
//!
//! A step that reads a value has the `slot` that receives it: the field's index in the reader's record, and 0 within an
//! element, a map's value or a union's branch. A step that begins a level (record, array, map, branch, constant) has
//! its `body`, the steps of that level up to an `End`, and `next`, the step after the level. A recursive type's body is
//! entered again from inside; nothing else jumps backwards.

use std::sync::Arc;

use crate::error::{DecodeError, Fault};
use crate::limits::Limits;
use crate::schema::Schema;

/// A compiled plan for reading messages of one schema as another.
#[derive(Debug)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Each step's path, as an index in `paths`; for errors.
    pub(crate) places: Vec<u32>,
    /// Targets of the unions' branches; each union has a range of them.
    pub(crate) branches: Vec<Branch>,
    /// The reader's symbol for each of the writer's; each enum has a range of them.
    pub(crate) symbols: Vec<Option<u32>>,
    /// Encoded defaults; each constant has a range of these bytes.
    pub(crate) constants: Vec<u8>,
    pub(crate) paths: Vec<PathNode>,
    pub(crate) writer: Arc<Schema>,
    pub(crate) reader: Arc<Schema>,
    pub(crate) limits: Limits,
}

/// One step of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The slot that receives the value. Meaningless for `Skip` and `End`.
    pub slot: u32,
    pub code: Code,
}

/// The operation of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Reads a scalar.
    Read(Scalar),
    /// Skips a value that the reader's schema lacks.
    Skip(Skip),
    /// Begins a record with this many slots.
    Record { slots: u32, body: u32, next: u32 },
    /// Reads blocks of elements, each of which takes at least `bytes_min`.
    Array { bytes_min: u32, body: u32, next: u32 },
    /// Reads blocks of a string key and a value, which together take at least `bytes_min`.
    Map { bytes_min: u32, body: u32, next: u32 },
    /// Reads a branch's index and continues at that entry of `branches[first..first + count]`.
    Union { first: u32, count: u32, next: u32 },
    /// The reader's union around a value that the writer wrote without one.
    Wrap { branch: u32, body: u32, next: u32 },
    /// A default: the body reads `constants[begin..]` instead of the message.
    Constant { begin: u32, body: u32, next: u32 },
    /// Skips blocks of elements (map entries if `keys`), by the block's size in bytes if it has one.
    SkipBlocks { keys: bool, bytes_min: u32, body: u32, next: u32 },
    /// Skips a union's value.
    SkipUnion { first: u32, count: u32, next: u32 },
    /// Skips a record that contains itself.
    SkipRecord { body: u32, next: u32 },
    /// Ends a level.
    End,
}

/// A scalar: the type that was written, and the type that is read.
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

/// A scalar to skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    /// An integer of any length.
    Long,
    /// A length and that many bytes.
    Bytes,
    /// That many bytes.
    Fixed(u32),
}

/// The target of a union's branch.
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

    /// The fault at `step`, with its path. `calls` are the enclosing records, innermost first: the step that began
    /// each, and its body. Callers share a body, so the path of a step in it may belong to another caller.
    #[cold]
    pub(crate) fn error(&self, step: u32, calls: impl Iterator<Item = (u32, u32)>, fault: Fault) -> DecodeError {
        let mut segments = Vec::new();
        let mut at = step;
        for (caller, body) in calls {
            // A body follows the step for which it was made.
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
