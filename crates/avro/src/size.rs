//! Sizes of a type's values, as far as the schema determines them.

use std::collections::HashMap;

use crate::schema::{Kind, Schema, TypeId};

/// Sizes of a schema's types, each computed once.
pub(crate) struct Sizes<'a> {
    schema: &'a Schema,
    known: HashMap<TypeId, Size>,
}

#[derive(Clone, Copy)]
struct Size {
    min: u32,
    /// Whether every value takes `min`.
    fixed: bool,
}

impl<'a> Sizes<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, known: HashMap::new() }
    }

    /// Minimum size of a value of this type in bytes.
    pub fn min(&mut self, id: TypeId) -> u32 {
        self.size(id).min
    }

    /// Size of every value of this type, if it is fixed.
    pub fn fixed(&mut self, id: TypeId) -> Option<u32> {
        Some(self.size(id)).filter(|size| size.fixed).map(|size| size.min)
    }

    /// Recursion is bounded by the depth of the schema's JSON: a type that is defined elsewhere is already known.
    fn size(&mut self, id: TypeId) -> Size {
        if let Some(size) = self.known.get(&id) {
            return *size;
        }
        // A recursive occurrence counts as 0, so that the sum is a lower bound.
        self.known.insert(id, Size { min: 0, fixed: false });
        let schema = self.schema;
        let (min, fixed) = match schema.kind(id) {
            Kind::Null => (0, true),
            Kind::Boolean => (1, true),
            Kind::Float => (4, true),
            Kind::Double => (8, true),
            Kind::Fixed(fixed) => u32::try_from(fixed.size).map_or((u32::MAX, false), |size| (size, true)),
            Kind::Record(record) => record.fields.iter().fold((0_u32, true), |(min, fixed), field| {
                let size = self.size(field.type_id);
                let sum = min.checked_add(size.min);
                (sum.unwrap_or(u32::MAX), fixed && size.fixed && sum.is_some())
            }),
            _ => (1, false),
        };
        let size = Size { min, fixed };
        self.known.insert(id, size);
        size
    }
}
