//! Resolves a writer's schema against a reader's into a plan's steps.
//!
//! Source: Avro specification 1.12, "Schema Resolution". If a branch of a union has no counterpart in the reader's
//! schema, only messages with that branch are rejected. Any other mismatch is rejected here.

use std::collections::HashMap;
use std::sync::Arc;

use crate::branches::{self, Readers};
use crate::error::ResolveError;
use crate::limits::{Limits, PLAN_STEPS_MAX, PLAN_WORK_MAX, SCHEMA_DEPTH_MAX};
use crate::plan::{Branch, Code, PathNode, Plan, Scalar, Segment, Skip, Step};
use crate::schema::{Enum, Kind, Record, Schema, TypeId};
use crate::size::Sizes;

impl Plan {
    /// Resolves the writer's schema against the reader's.
    pub fn new(writer: &Arc<Schema>, reader: &Arc<Schema>, limits: Limits) -> Result<Self, ResolveError> {
        let mut plan = Self {
            steps: Vec::new(),
            places: Vec::new(),
            branches: Vec::new(),
            symbols: Vec::new(),
            constants: Vec::new(),
            paths: vec![PathNode { parent: 0, segment: Segment::Root }],
            writer: Arc::clone(writer),
            reader: Arc::clone(reader),
            limits,
        };
        let root = Place { path: 0, type_id: reader.root() };
        let mut resolver = Resolver {
            reader,
            plan: &mut plan,
            depth: 0,
            work_left: PLAN_WORK_MAX,
            is_exhausted: false,
            bodies: HashMap::new(),
            entered: Vec::new(),
            refused: HashMap::new(),
            unions: HashMap::new(),
            sizes: [Sizes::new(writer), Sizes::new(reader)],
        };
        resolver.value(Written { schema: writer, id: writer.root(), default: false }, 0, root)?;
        resolver.push(0, root, Code::End)?;
        Ok(plan)
    }

    /// A plan that reads messages with the schema that wrote them.
    pub fn same(schema: &Arc<Schema>, limits: Limits) -> Result<Self, ResolveError> {
        Self::new(schema, schema, limits)
    }
}

/// A written type: the writer's, or for a default the reader's.
#[derive(Clone, Copy)]
struct Written<'a> {
    schema: &'a Schema,
    id: TypeId,
    default: bool,
}

impl<'a> Written<'a> {
    fn at(self, id: TypeId) -> Self {
        Self { id, ..self }
    }

    fn kind(self) -> &'a Kind {
        self.schema.kind(self.id)
    }
}

/// A value's path and the reader's type; for a skipped value, the type of the enclosing record.
#[derive(Clone, Copy)]
struct Place {
    path: u32,
    type_id: TypeId,
}

/// Work charged for trying a branch, in types compared: a branch that fails formats its error.
const BRANCH_WORK: usize = 32;

/// Identifies a record's body: whether it is a default, the written type, and the type read (`None` if it is skipped).
type Key = (bool, TypeId, Option<TypeId>);

struct Resolver<'a, 'p> {
    reader: &'a Schema,
    plan: &'p mut Plan,
    depth: u32,
    work_left: u32,
    /// Whether the work exceeded its limit. No other branch of a union is tried then.
    is_exhausted: bool,
    bodies: HashMap<Key, u32>,
    /// The keys of `bodies` in the order of their creation, so that a failed attempt removes only its own.
    entered: Vec<Key>,
    /// Records that don't match, so that unions don't try them again.
    refused: HashMap<Key, ResolveError>,
    /// The reader's unions, by their types.
    unions: HashMap<TypeId, Arc<Readers<'a>>>,
    sizes: [Sizes<'a>; 2],
}

impl<'a> Resolver<'a, '_> {
    fn value(&mut self, written: Written<'a>, slot: u32, place: Place) -> Result<(), ResolveError> {
        self.depth += 1;
        if self.depth > SCHEMA_DEPTH_MAX {
            return Err(self.refuse(place, "its types are nested too deep; flatten the schema"));
        }
        self.spend(1, place)?;
        let result = self.value_within(written, slot, place);
        self.depth -= 1;
        result
    }

    fn value_within(&mut self, written: Written<'a>, slot: u32, place: Place) -> Result<(), ResolveError> {
        let read = self.reader.kind(place.type_id);
        match (written.kind(), read) {
            (Kind::Union(branches), read) => self.union(written, branches, matches!(read, Kind::Union(_)), slot, place),
            (_, Kind::Union(branches)) => {
                let level = self.push(slot, place, Code::End)?;
                let branch = self.branch(written, place.type_id, branches, place)?;
                self.close(level, |body, next| Code::Wrap { branch, body, next })
            }
            (Kind::Record(from), Kind::Record(to)) if to.name.takes(&from.name) => {
                self.record(written, from, to, slot, place)
            }
            (Kind::Array(from), Kind::Array(to)) => {
                let bytes_min = self.bytes_min(written.at(*from));
                let level = self.push(slot, place, Code::End)?;
                let place = self.place(place, Segment::Items, *to)?;
                self.value(written.at(*from), 0, place)?;
                self.close(level, |body, next| Code::Array { bytes_min, body, next })
            }
            (Kind::Map(from), Kind::Map(to)) => {
                let bytes_min = self.bytes_min(written.at(*from)).saturating_add(1);
                let level = self.push(slot, place, Code::End)?;
                let place = self.place(place, Segment::Value, *to)?;
                self.value(written.at(*from), 0, place)?;
                self.close(level, |body, next| Code::Map { bytes_min, body, next })
            }
            (Kind::Enum(from), Kind::Enum(to)) if to.name.takes(&from.name) => {
                let scalar = self.symbols(from, to, place)?;
                self.push(slot, place, Code::Read(scalar)).map(drop)
            }
            (Kind::Fixed(from), Kind::Fixed(to)) if to.name.takes(&from.name) => {
                if from.size != to.size {
                    let reason = format!(
                        "the writer's {} has {} bytes, the reader's {}; give the new size a new name",
                        from.name.full, from.size, to.size
                    );
                    return Err(self.refuse(place, &reason));
                }
                let size = self.number(from.size, place)?;
                self.push(slot, place, Code::Read(Scalar::Fixed(size))).map(drop)
            }
            (from, to) => match branches::scalar(from, to) {
                Some(scalar) => self.push(slot, place, Code::Read(scalar)).map(drop),
                None => {
                    let named = matches!(to, Kind::Record(_) | Kind::Enum(_) | Kind::Fixed(_));
                    let hint = if named { "; if it was renamed, add the old name as an alias" } else { "" };
                    Err(self.refuse(place, &format!("the writer's {from} can't be read as {to}{hint}")))
                }
            },
        }
    }

    fn record(
        &mut self,
        written: Written<'a>,
        from: &'a Record,
        to: &'a Record,
        slot: u32,
        place: Place,
    ) -> Result<(), ResolveError> {
        let key = (written.default, written.id, Some(place.type_id));
        let slots = self.number(to.fields.len(), place)?;
        if let Some(&body) = self.bodies.get(&key) {
            let next = self.next(place)? + 1;
            return self.push(slot, place, Code::Record { slots, body, next }).map(drop);
        }
        if let Some(error) = self.refused.get(&key) {
            return Err(error.clone());
        }
        let level = self.push(slot, place, Code::End)?;
        self.enter(key, level + 1);
        match self.fields(written, from, to, place) {
            Ok(()) => self.close(level, |body, next| Code::Record { slots, body, next }),
            Err(error) => {
                self.bodies.remove(&key);
                self.refused.insert(key, error.clone());
                Err(error)
            }
        }
    }

    fn fields(
        &mut self,
        written: Written<'a>,
        from: &'a Record,
        to: &'a Record,
        place: Place,
    ) -> Result<(), ResolveError> {
        self.spend(from.fields.len() + to.fields.len(), place)?;
        let fills = fills(from, to);
        // The reader's field that each of the writer's fields fills: at most one, otherwise the schema is rejected.
        let mut fills_into = vec![(None, None); from.fields.len()];
        for (slot, fill) in fills.iter().enumerate() {
            match fill.and_then(|index| fills_into.get_mut(index)) {
                Some((first @ None, _)) => *first = Some(slot),
                Some((_, second @ None)) => *second = Some(slot),
                _ => {}
            }
        }
        for (field, (slot, second)) in from.fields.iter().zip(fills_into) {
            let into = |slot: Option<usize>| slot.and_then(|slot| to.fields.get(slot));
            let (Some(slot), Some(first)) = (slot, into(slot)) else {
                let path = self.path(place, Segment::Field(field.name.clone()))?;
                self.skip(written.at(field.type_id), Place { path, ..place })?;
                continue;
            };
            if let Some(second) = into(second) {
                let reason = format!(
                    "the reader's fields {:?} and {:?} both match the writer's {:?}; keep the alias on one of them",
                    first.name, second.name, field.name
                );
                return Err(self.refuse(place, &reason));
            }
            let slot = self.number(slot, place)?;
            let place = self.place(place, Segment::Field(first.name.clone()), first.type_id)?;
            self.value(written.at(field.type_id), slot, place)?;
        }
        for (index, (field, fill)) in to.fields.iter().zip(fills).enumerate() {
            if fill.is_some() {
                continue;
            }
            let place = self.place(place, Segment::Field(field.name.clone()), field.type_id)?;
            let Some(default) = &field.default else {
                return Err(self.refuse(place, "the writer's schema lacks it; give it a default in the reader's"));
            };
            let slot = self.number(index, place)?;
            let begin = self.number(self.plan.constants.len(), place)?;
            self.spend(default.len(), place)?;
            self.plan.constants.extend_from_slice(default);
            let level = self.push(slot, place, Code::End)?;
            self.value(Written { schema: self.reader, id: field.type_id, default: true }, slot, place)?;
            self.close(level, |body, next| Code::Constant { begin, body, next })?;
        }
        Ok(())
    }

    fn union(
        &mut self,
        written: Written<'a>,
        branches: &'a [TypeId],
        wrapped: bool,
        slot: u32,
        place: Place,
    ) -> Result<(), ResolveError> {
        let level = self.push(slot, place, Code::End)?;
        let mut resolved = Vec::with_capacity(branches.len());
        let mut refusal = None;
        for branch in branches {
            let body = self.next(place)?;
            let written = written.at(*branch);
            let result = match self.reader.kind(place.type_id) {
                Kind::Union(readers) if wrapped => {
                    self.branch(written, place.type_id, readers, place).map(|index| Branch::Wrapped { index, body })
                }
                _ => self.attempt(|this| this.value(written, slot, place)).map(|()| Branch::Plain { body }),
            };
            match result {
                Ok(branch) => {
                    self.push(0, place, Code::End)?;
                    resolved.push(branch);
                }
                Err(error) if self.is_exhausted => return Err(error),
                Err(error) => {
                    resolved.push(Branch::Missing);
                    refusal.get_or_insert(error);
                }
            }
        }
        if let Some(error) = refusal
            && resolved.iter().all(|branch| *branch == Branch::Missing)
        {
            return Err(error);
        }
        let first = self.number(self.plan.branches.len(), place)?;
        let count = self.number(resolved.len(), place)?;
        self.plan.branches.extend(resolved);
        let next = self.next(place)?;
        self.set(level, Code::Union { first, count, next });
        Ok(())
    }

    /// Reads the written value as the first branch of the reader's union `id` that accepts it; returns that branch's
    /// index. The same type precedes the same name in another namespace, and both precede a promotion.
    fn branch(
        &mut self,
        written: Written<'a>,
        id: TypeId,
        readers: &'a [TypeId],
        place: Place,
    ) -> Result<u32, ResolveError> {
        let reader = self.reader;
        let known = self.unions.entry(id).or_insert_with(|| Arc::new(Readers::new(reader, readers)));
        let known = Arc::clone(known);
        let mut refusal = None;
        for index in known.candidates(written.kind()) {
            self.spend(BRANCH_WORK, place)?;
            let place = Place { type_id: readers.get(index).copied().unwrap_or(place.type_id), ..place };
            match self.attempt(|this| this.value(written, 0, place)) {
                Ok(()) => return self.number(index, place),
                Err(error) if self.is_exhausted => return Err(error),
                Err(error) => drop(refusal.get_or_insert(error)),
            }
        }
        let reason = || format!("no branch of the reader's union accepts the writer's {}", written.kind());
        Err(refusal.unwrap_or_else(|| self.refuse(place, &reason())))
    }

    /// Runs `steps`; if they fail, restores the plan.
    fn attempt(&mut self, steps: impl FnOnce(&mut Self) -> Result<(), ResolveError>) -> Result<(), ResolveError> {
        let plan = &*self.plan;
        let lengths =
            (plan.steps.len(), plan.branches.len(), plan.symbols.len(), plan.constants.len(), plan.paths.len());
        let (depth, entered) = (self.depth, self.entered.len());
        steps(self).inspect_err(|_| {
            self.depth = depth;
            self.plan.steps.truncate(lengths.0);
            self.plan.places.truncate(lengths.0);
            self.plan.branches.truncate(lengths.1);
            self.plan.symbols.truncate(lengths.2);
            self.plan.constants.truncate(lengths.3);
            self.plan.paths.truncate(lengths.4);
            for key in self.entered.drain(entered..) {
                self.bodies.remove(&key);
            }
        })
    }

    /// Remembers where the body of a record begins.
    fn enter(&mut self, key: Key, body: u32) {
        self.bodies.insert(key, body);
        self.entered.push(key);
    }

    fn symbols(&mut self, from: &Enum, to: &Enum, place: Place) -> Result<Scalar, ResolveError> {
        let first = self.number(self.plan.symbols.len(), place)?;
        let count = self.number(from.symbols.len(), place)?;
        self.number(to.symbols.len(), place)?;
        self.spend(from.symbols.len() + to.symbols.len(), place)?;
        let known: HashMap<&str, u32> = to.symbols.iter().map(String::as_str).zip(0..).collect();
        let indices = from.symbols.iter().map(|symbol| known.get(symbol.as_str()).copied().or(to.default));
        self.plan.symbols.extend(indices);
        Ok(Scalar::Enum { first, count })
    }

    fn skip(&mut self, written: Written<'a>, place: Place) -> Result<(), ResolveError> {
        self.depth += 1;
        if self.depth > SCHEMA_DEPTH_MAX {
            return Err(self.refuse(place, "its types are nested too deep; flatten the schema"));
        }
        let result = self.skip_within(written, place);
        self.depth -= 1;
        result
    }

    fn skip_within(&mut self, written: Written<'a>, place: Place) -> Result<(), ResolveError> {
        if let Some(size) = self.sizes(written).fixed(written.id) {
            return self.skip_fixed(size, place);
        }
        match written.kind() {
            Kind::Bytes | Kind::String => self.push(0, place, Code::Skip(Skip::Bytes)).map(drop),
            Kind::Array(items) | Kind::Map(items) => {
                let keys = matches!(written.kind(), Kind::Map(_));
                let bytes_min = self.bytes_min(written.at(*items)).saturating_add(u32::from(keys));
                let level = self.push(0, place, Code::End)?;
                self.skip(written.at(*items), place)?;
                self.close(level, |body, next| Code::SkipBlocks { keys, bytes_min, body, next })
            }
            Kind::Union(branches) => {
                let level = self.push(0, place, Code::End)?;
                let mut bodies = Vec::with_capacity(branches.len());
                for branch in branches {
                    bodies.push(Branch::Plain { body: self.next(place)? });
                    self.skip(written.at(*branch), place)?;
                    self.push(0, place, Code::End)?;
                }
                let first = self.number(self.plan.branches.len(), place)?;
                let count = self.number(bodies.len(), place)?;
                self.plan.branches.extend(bodies);
                let next = self.next(place)?;
                self.set(level, Code::SkipUnion { first, count, next });
                Ok(())
            }
            Kind::Record(record) => {
                let key = (written.default, written.id, None);
                if let Some(&body) = self.bodies.get(&key) {
                    let next = self.next(place)? + 1;
                    return self.push(0, place, Code::SkipRecord { body, next }).map(drop);
                }
                let level = self.push(0, place, Code::End)?;
                self.enter(key, level + 1);
                for field in &record.fields {
                    self.skip(written.at(field.type_id), place)?;
                }
                self.close(level, |body, next| Code::SkipRecord { body, next })
            }
            // Only integers are left: a fixed size was handled above.
            _ => self.push(0, place, Code::Skip(Skip::Long)).map(drop),
        }
    }

    fn skip_fixed(&mut self, size: u32, place: Place) -> Result<(), ResolveError> {
        if size == 0 {
            return Ok(());
        }
        self.push(0, place, Code::Skip(Skip::Fixed(size))).map(drop)
    }

    fn sizes(&mut self, written: Written<'a>) -> &mut Sizes<'a> {
        let [writer, reader] = &mut self.sizes;
        if written.default { reader } else { writer }
    }

    fn bytes_min(&mut self, written: Written<'a>) -> u32 {
        self.sizes(written).min(written.id)
    }

    fn place(&mut self, around: Place, segment: Segment, type_id: TypeId) -> Result<Place, ResolveError> {
        Ok(Place { path: self.path(around, segment)?, type_id })
    }

    fn path(&mut self, around: Place, segment: Segment) -> Result<u32, ResolveError> {
        let node = self.number(self.plan.paths.len(), around)?;
        self.plan.paths.push(PathNode { parent: around.path, segment });
        Ok(node)
    }

    fn push(&mut self, slot: u32, place: Place, code: Code) -> Result<u32, ResolveError> {
        let index = self.next(place)?;
        self.plan.steps.push(Step { slot, code });
        self.plan.places.push(place.path);
        Ok(index)
    }

    /// Ends the level that the step `level` began, and sets that step's code.
    fn close(&mut self, level: u32, code: impl FnOnce(u32, u32) -> Code) -> Result<(), ResolveError> {
        let path = self.plan.places.get(level as usize).copied().unwrap_or_default();
        let place = Place { path, type_id: self.reader.root() };
        self.push(0, place, Code::End)?;
        let next = self.next(place)?;
        self.set(level, code(level + 1, next));
        Ok(())
    }

    fn set(&mut self, step: u32, code: Code) {
        if let Some(step) = self.plan.steps.get_mut(step as usize) {
            step.code = code;
        }
    }

    fn next(&self, place: Place) -> Result<u32, ResolveError> {
        let length = self.plan.steps.len();
        if length >= PLAN_STEPS_MAX {
            return Err(self.refuse(place, "the schemas have too many fields; split them"));
        }
        self.number(length, place)
    }

    fn number(&self, number: usize, place: Place) -> Result<u32, ResolveError> {
        u32::try_from(number).map_err(|_| self.refuse(place, "a size in the schema is 2^32 or more; make it smaller"))
    }

    /// Counts steps of work: types that contain one another could be compared in too many combinations.
    fn spend(&mut self, work: usize, place: Place) -> Result<(), ResolveError> {
        match u32::try_from(work).ok().and_then(|work| self.work_left.checked_sub(work)) {
            Some(left) => {
                self.work_left = left;
                Ok(())
            }
            None => {
                self.is_exhausted = true;
                Err(self.refuse(place, "the schemas differ in too many ways to compare; split them"))
            }
        }
    }

    #[cold]
    fn refuse(&self, place: Place, reason: &str) -> ResolveError {
        ResolveError { path: self.plan.path(place.path), reason: reason.to_owned() }
    }
}

/// For each field of the reader's record, the writer's field that fills it: the one with its name, otherwise the first
/// that matches an alias.
fn fills(from: &Record, to: &Record) -> Vec<Option<usize>> {
    // Usually the two records have the same fields in the same order.
    let same = from.fields.len() == to.fields.len();
    if same && from.fields.iter().zip(&to.fields).all(|(from, to)| from.name == to.name) {
        return (0..to.fields.len()).map(Some).collect();
    }
    let by_name: HashMap<&str, usize> = from.fields.iter().map(|field| field.name.as_str()).zip(0..).collect();
    let by_alias = |aliases: &[String]| aliases.iter().filter_map(|alias| by_name.get(alias.as_str()).copied()).min();
    to.fields
        .iter()
        .map(|field| by_name.get(field.name.as_str()).copied().or_else(|| by_alias(&field.aliases)))
        .collect()
}
