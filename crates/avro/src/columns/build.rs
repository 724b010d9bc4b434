//! Creates a list of empty columns from a reader's schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::StringArray;
use arrow_buffer::{BooleanBufferBuilder, i256};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use super::column::{Column, Data, NOTHING, ROOT, Runs, offsets};
use super::{ColumnsError, StringAs};
use crate::limits::SCHEMA_DEPTH_MAX;
use crate::plan::{Segment, join};
use crate::schema::{Kind, Logical, Schema, Type, TypeId};

/// Maximum number of columns: every use of a type has separate columns, so a small schema can request many.
const COLUMNS_MAX: usize = 1 << 16;

/// Maximum number of branches: Arrow's union type ids end at 127.
const BRANCHES_MAX: usize = 127;

/// The columns of the messages of `schema`, and the Arrow field of the whole message.
pub(super) fn build(schema: &Schema, strings: &StringAs) -> Result<(Vec<Column>, Field), ColumnsError> {
    let mut builder = Builder { schema, strings, columns: Vec::new(), within: Vec::new(), depth: 0 };
    builder.reserve(NOTHING, [Segment::Root, Segment::Root])?;
    let root = builder.fill(ROOT, schema.root())?;
    Ok((builder.columns, root))
}

struct Builder<'a> {
    schema: &'a Schema,
    strings: &'a StringAs,
    columns: Vec<Column>,
    /// The enclosing records.
    within: Vec<TypeId>,
    depth: u32,
}

impl<'a> Builder<'a> {
    /// Reserves adjacent columns; returns the index of the first.
    fn reserve(&mut self, parent: u32, segments: impl IntoIterator<Item = Segment>) -> Result<u32, ColumnsError> {
        let first = self.columns.len();
        self.columns.extend(segments.into_iter().map(|segment| Column {
            data: Data::Nothing,
            data_type: DataType::Null,
            nulls: BooleanBufferBuilder::new(0),
            parent,
            segment,
        }));
        if self.columns.len() > COLUMNS_MAX {
            return Err(self.refuse(parent, &format!("the schema has more than {COLUMNS_MAX} columns; split it")));
        }
        Ok(first as u32)
    }

    /// Gives the column `at` the type `id`; returns its Arrow field, which has no name yet.
    fn fill(&mut self, at: u32, id: TypeId) -> Result<Field, ColumnsError> {
        self.depth += 1;
        if self.depth > SCHEMA_DEPTH_MAX {
            return Err(self.refuse(at, "its types are nested too deep; flatten the schema"));
        }
        let (data, data_type) = self.data(at, id)?;
        self.depth -= 1;
        let nullable = match (&data, &data_type) {
            (Data::Nullable { .. }, _) | (_, DataType::Null) => true,
            (_, DataType::Union(fields, _)) => fields.iter().any(|(_, field)| field.is_nullable()),
            _ => false,
        };
        let mut field = Field::new("", data_type.clone(), nullable);
        if let Type { logical: Some(Logical::Uuid), .. } = self.plain(id) {
            let name = ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
            field = field.with_metadata(HashMap::from([name]));
        }
        if let Some(column) = self.columns.get_mut(at as usize) {
            (column.data, column.data_type) = (data, data_type);
        }
        Ok(field)
    }

    fn data(&mut self, at: u32, id: TypeId) -> Result<(Data, DataType), ColumnsError> {
        let schema = self.schema;
        let Type { kind, logical } = schema.type_at(id);
        let utc = || Some("+00:00".into());
        Ok(match (kind, *logical) {
            (Kind::Null, _) => (Data::Null(0), DataType::Null),
            (Kind::Boolean, _) => (Data::Boolean(BooleanBufferBuilder::new(0)), DataType::Boolean),
            (Kind::Int, logical) => {
                let data_type = match logical {
                    Some(Logical::Date) => DataType::Date32,
                    Some(Logical::TimeMillis) => DataType::Time32(TimeUnit::Millisecond),
                    _ => DataType::Int32,
                };
                (Data::Int(Vec::new()), data_type)
            }
            (Kind::Long, logical) => {
                let data_type = match logical {
                    Some(Logical::TimeMicros) => DataType::Time64(TimeUnit::Microsecond),
                    Some(Logical::TimestampMillis) => DataType::Timestamp(TimeUnit::Millisecond, utc()),
                    Some(Logical::TimestampMicros) => DataType::Timestamp(TimeUnit::Microsecond, utc()),
                    Some(Logical::TimestampNanos) => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
                    Some(Logical::LocalTimestampMillis) => DataType::Timestamp(TimeUnit::Millisecond, None),
                    Some(Logical::LocalTimestampMicros) => DataType::Timestamp(TimeUnit::Microsecond, None),
                    Some(Logical::LocalTimestampNanos) => DataType::Timestamp(TimeUnit::Nanosecond, None),
                    _ => DataType::Int64,
                };
                (Data::Long(Vec::new()), data_type)
            }
            (Kind::Float, _) => (Data::Float(Vec::new()), DataType::Float32),
            (Kind::Double, _) => (Data::Double(Vec::new()), DataType::Float64),
            (Kind::Bytes | Kind::Fixed(_), Some(Logical::Decimal { precision, scale }))
                if precision <= 76 && scale <= precision =>
            {
                decimal(precision as u8, scale as i8)
            }
            (Kind::Bytes | Kind::String | Kind::Fixed(_), Some(Logical::Uuid)) => {
                (Data::Uuid(Vec::new()), DataType::FixedSizeBinary(16))
            }
            (Kind::Bytes, _) => (Data::Runs(Runs::with_capacity(0, 0)), DataType::Binary),
            (Kind::String, _) => self.text(),
            (Kind::Fixed(fixed), Some(Logical::Duration)) if fixed.size == 12 => {
                (Data::Duration(Vec::new()), DataType::Interval(IntervalUnit::MonthDayNano))
            }
            (Kind::Fixed(fixed), _) => {
                let size = i32::try_from(fixed.size).map_err(|_| self.refuse(at, "its size is 2^31 or more"))?;
                (Data::Fixed { size: fixed.size, data: Vec::new(), rows: 0 }, DataType::FixedSizeBinary(size))
            }
            (Kind::Enum(symbols), _) => {
                let symbols = Arc::new(StringArray::from_iter_values(&symbols.symbols));
                let data_type = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                (Data::Symbol { keys: Vec::new(), symbols }, data_type)
            }
            (Kind::Array(items), _) => {
                let child = self.reserve(at, [Segment::Items])?;
                let field = self.fill(child, *items)?.with_name(Field::LIST_FIELD_DEFAULT_NAME);
                (Data::List { offsets: offsets(0), items: child }, DataType::List(Arc::new(field)))
            }
            (Kind::Map(values), _) => {
                let keys = self.reserve(at, [Segment::Value, Segment::Value])?;
                let (data, key_type) = self.text();
                if let Some(column) = self.columns.get_mut(keys as usize) {
                    (column.data, column.data_type) = (data, key_type.clone());
                }
                let key = Field::new(Field::MAP_KEY_FIELD_DEFAULT_NAME, key_type, false);
                let value = self.fill(keys + 1, *values)?.with_name(Field::MAP_VALUE_FIELD_DEFAULT_NAME);
                let entries = DataType::Struct(vec![key, value].into());
                let entries = Field::new(Field::MAP_ENTRIES_FIELD_DEFAULT_NAME, entries, false);
                (Data::Map { offsets: offsets(0), keys }, DataType::Map(Arc::new(entries), false))
            }
            (Kind::Union(branches), _) => self.union(at, branches)?,
            (Kind::Record(record), _) => {
                if self.within.contains(&id) {
                    let reason = format!(
                        "{} contains itself, and Arrow has no type for that; leave the field out of the reader's \
                         schema, or decode messages one by one",
                        record.name.full
                    );
                    return Err(self.refuse(at, &reason));
                }
                self.within.push(id);
                let names = record.fields.iter().map(|field| Segment::Field(field.name.clone()));
                let first = self.reserve(at, names)?;
                let mut fields = Vec::with_capacity(record.fields.len());
                for (child, field) in (first..).zip(&record.fields) {
                    fields.push(self.fill(child, field.type_id)?.with_name(&field.name));
                }
                self.within.pop();
                let count = fields.len() as u32;
                (Data::Record { first, count, rows: 0 }, DataType::Struct(fields.into()))
            }
        })
    }

    fn union(&mut self, at: u32, branches: &'a [TypeId]) -> Result<(Data, DataType), ColumnsError> {
        let is_null = |id: &TypeId| matches!(self.schema.kind(*id), Kind::Null);
        if let [one, other] = branches
            && is_null(one) != is_null(other)
        {
            let (null_branch, id) = if is_null(one) { (0, *other) } else { (1, *one) };
            let segment = self.columns.get(at as usize).map_or(Segment::Root, |column| column.segment.clone());
            let parent = self.columns.get(at as usize).map_or(ROOT, |column| column.parent);
            let value = self.reserve(parent, [segment])?;
            let field = self.fill(value, id)?;
            return Ok((Data::Nullable { value, null_branch }, field.data_type().clone()));
        }
        if branches.len() > BRANCHES_MAX {
            return Err(self.refuse(at, &format!("its union has more than {BRANCHES_MAX} branches; split it")));
        }
        let column = self.columns.get(at as usize).map(|column| (column.parent, column.segment.clone()));
        let (parent, segment) = column.unwrap_or((ROOT, Segment::Root));
        let first = self.reserve(parent, vec![segment; branches.len()])?;
        let mut fields = Vec::with_capacity(branches.len());
        for (child, id) in (first..).zip(branches) {
            let name = self.schema.kind(*id).to_string();
            fields.push(self.fill(child, *id)?.with_name(name));
        }
        let ids = (0..).take(fields.len());
        let fields = UnionFields::try_new(ids, fields).map_err(|error| self.refuse(at, &error.to_string()))?;
        let data = Data::Union { types: Vec::new(), offsets: Vec::new(), first };
        Ok((data, DataType::Union(fields, UnionMode::Dense)))
    }

    fn text(&self) -> (Data, DataType) {
        match self.strings {
            StringAs::Utf8 => (Data::Runs(Runs::with_capacity(0, 0)), DataType::Utf8),
            StringAs::Utf8View => (Data::View(Vec::new()), DataType::Utf8View),
            StringAs::Dictionary(_) => {
                let data_type = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
                (Data::Id(Vec::new()), data_type)
            }
        }
    }

    /// The type inside a nullable union; any other type is returned unchanged.
    fn plain(&self, id: TypeId) -> &'a Type {
        let schema = self.schema;
        match schema.kind(id) {
            Kind::Union(branches) if branches.len() == 2 => {
                let values = || branches.iter().filter(|id| !matches!(schema.kind(**id), Kind::Null));
                match (values().next(), values().count()) {
                    (Some(id), 1) => schema.type_at(*id),
                    _ => schema.type_at(id),
                }
            }
            _ => schema.type_at(id),
        }
    }

    #[cold]
    fn refuse(&self, at: u32, reason: &str) -> ColumnsError {
        ColumnsError { path: path(&self.columns, at), reason: reason.to_owned() }
    }
}

fn decimal(precision: u8, scale: i8) -> (Data, DataType) {
    if precision <= 38 {
        let below = 10_i128.pow(u32::from(precision));
        return (Data::Decimal128 { below, values: Vec::new() }, DataType::Decimal128(precision, scale));
    }
    let below = i256::from_i128(10).wrapping_pow(u32::from(precision));
    (Data::Decimal256 { below, values: Vec::new() }, DataType::Decimal256(precision, scale))
}

/// The path of the column `at` in a message.
#[cold]
pub(super) fn path(columns: &[Column], at: u32) -> String {
    let mut segments = Vec::new();
    let mut at = at;
    while let Some(column) = columns.get(at as usize)
        && !matches!(column.segment, Segment::Root)
    {
        segments.push(&column.segment);
        at = column.parent;
    }
    join(&segments)
}
