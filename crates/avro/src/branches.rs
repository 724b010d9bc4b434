//! Ranks the branches of a reader's union for a written type.

use std::collections::HashMap;

use crate::plan::Scalar;
use crate::schema::{Kind, Name, Schema, TypeId};

/// The branches of one union, indexed by name: resolving a writer's union of thousands of types looks up each branch.
pub(crate) struct Readers<'a> {
    /// Branches without a name: at most one of each primitive type, an array and a map.
    unnamed: Vec<(usize, &'a Kind)>,
    by_full: HashMap<(Sort, &'a str), usize>,
    by_simple: HashMap<(Sort, &'a str), Vec<usize>>,
    by_alias: HashMap<(Sort, &'a str), Vec<usize>>,
}

/// The kinds of types that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sort {
    Record,
    Enum,
    Fixed,
}

impl<'a> Readers<'a> {
    pub fn new(schema: &'a Schema, branches: &[TypeId]) -> Self {
        let mut readers =
            Self { unnamed: Vec::new(), by_full: HashMap::new(), by_simple: HashMap::new(), by_alias: HashMap::new() };
        for (index, id) in branches.iter().enumerate() {
            let kind = schema.kind(*id);
            let Some((sort, name)) = named(kind) else {
                readers.unnamed.push((index, kind));
                continue;
            };
            readers.by_full.insert((sort, &name.full), index);
            readers.by_simple.entry((sort, name.simple())).or_default().push(index);
            for alias in &name.aliases {
                readers.by_alias.entry((sort, alias)).or_default().push(index);
            }
        }
        readers
    }

    /// Indices of the branches to try for a written type, in order: the same type, a match by unqualified name or
    /// alias, then promotions. Ties keep the union's order.
    pub fn candidates(&self, from: &Kind) -> Vec<usize> {
        let Some((sort, name)) = named(from) else {
            let mut ranked: Vec<_> =
                self.unnamed.iter().filter_map(|(index, to)| Some((rank_of(from, to)?, *index))).collect();
            ranked.sort_unstable();
            return ranked.into_iter().map(|(_, index)| index).collect();
        };
        let same = self.by_full.get(&(sort, name.full.as_str())).copied();
        let simple = self.by_simple.get(&(sort, name.simple())).into_iter().flatten();
        let alias = self.by_alias.get(&(sort, name.full.as_str())).into_iter().flatten();
        let mut similar: Vec<usize> = simple.chain(alias).copied().filter(|index| Some(*index) != same).collect();
        similar.sort_unstable();
        similar.dedup();
        same.into_iter().chain(similar).collect()
    }
}

fn named(kind: &Kind) -> Option<(Sort, &Name)> {
    match kind {
        Kind::Record(record) => Some((Sort::Record, &record.name)),
        Kind::Enum(symbols) => Some((Sort::Enum, &symbols.name)),
        Kind::Fixed(fixed) => Some((Sort::Fixed, &fixed.name)),
        _ => None,
    }
}

/// Rank of an unnamed branch for a written type: 0 for the same type, 1 for a promotion.
fn rank_of(from: &Kind, to: &Kind) -> Option<u32> {
    match (from, to) {
        (Kind::Array(_), Kind::Array(_)) | (Kind::Map(_), Kind::Map(_)) => Some(0),
        _ if std::mem::discriminant(from) == std::mem::discriminant(to) => scalar(from, to).map(|_| 0),
        _ => scalar(from, to).map(|_| 1),
    }
}

/// The primitive types and their promotions.
pub(crate) fn scalar(from: &Kind, to: &Kind) -> Option<Scalar> {
    Some(match (from, to) {
        (Kind::Null, Kind::Null) => Scalar::Null,
        (Kind::Boolean, Kind::Boolean) => Scalar::Boolean,
        (Kind::Int, Kind::Int) => Scalar::Int,
        (Kind::Int, Kind::Long) => Scalar::IntToLong,
        (Kind::Int, Kind::Float) => Scalar::IntToFloat,
        (Kind::Int, Kind::Double) => Scalar::IntToDouble,
        (Kind::Long, Kind::Long) => Scalar::Long,
        (Kind::Long, Kind::Float) => Scalar::LongToFloat,
        (Kind::Long, Kind::Double) => Scalar::LongToDouble,
        (Kind::Float, Kind::Float) => Scalar::Float,
        (Kind::Float, Kind::Double) => Scalar::FloatToDouble,
        (Kind::Double, Kind::Double) => Scalar::Double,
        (Kind::Bytes, Kind::Bytes) => Scalar::Bytes,
        (Kind::Bytes, Kind::String) => Scalar::BytesToString,
        (Kind::String, Kind::String) => Scalar::String,
        (Kind::String, Kind::Bytes) => Scalar::StringToBytes,
        _ => return None,
    })
}
