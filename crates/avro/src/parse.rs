//! Parses a schema's JSON into types: resolves names and encodes defaults, in time proportional to the JSON.
//!
//! Source: Avro specification 1.12, "Schema Declaration". Attributes that the specification doesn't define are ignored,
//! and so is a logical type that doesn't fit its type. A name must be defined before it is used.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::defaults;
use crate::error::SchemaError;
use crate::fingerprint;
use crate::schema::{Enum, Field, Fixed, Kind, Logical, Name, Record, Schema, Type, TypeId};

/// Branches that a union may have without a name: one of each primitive type, an array and a map.
const UNNAMED_KINDS: [&str; 10] =
    ["null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"];

impl Schema {
    /// Reads a schema from its JSON.
    pub fn parse(json: &str) -> Result<Self, SchemaError> {
        // serde_json rejects JSON nested deeper than 128 levels, which bounds every recursion over a schema's types.
        let value: Value = serde_json::from_str(json).map_err(|error| SchemaError::Json(error.to_string()))?;
        let mut parser = Parser { types: Vec::new(), names: HashMap::new(), defaults: Vec::new() };
        let root = parser.add(&value, "")?;
        let Parser { types, defaults, .. } = parser;
        let canonical = fingerprint::canonical(&types, root);
        let fingerprint = fingerprint::crc64(canonical.as_bytes());
        let mut schema = Self { types, root, canonical, fingerprint, json: json.to_owned() };
        defaults::set(&mut schema, defaults)?;
        Ok(schema)
    }
}

struct Parser<'j> {
    types: Vec<Type>,
    names: HashMap<String, TypeId>,
    defaults: Vec<defaults::Given<'j>>,
}

impl<'j> Parser<'j> {
    /// Adds the type that `json` describes, or finds the one that it names.
    fn add(&mut self, json: &'j Value, namespace: &str) -> Result<TypeId, SchemaError> {
        match json {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => self.place(|this, _| this.union(branches, namespace)),
            Value::Object(object) => self.object(object, namespace),
            other => Err(wrong(format!("expected a name, an object or a list of types, found {other}"))),
        }
    }

    /// Reserves a place, so that a record's fields can refer to it, and fills it with what `build` returns.
    fn place(
        &mut self,
        build: impl FnOnce(&mut Self, TypeId) -> Result<Kind, SchemaError>,
    ) -> Result<TypeId, SchemaError> {
        let id = TypeId::new(self.types.len()).ok_or(SchemaError::TooLarge)?;
        self.types.push(Type { kind: Kind::Null, logical: None });
        let kind = build(self, id)?;
        if let Some(place) = self.types.get_mut(id.index()) {
            place.kind = kind;
        }
        Ok(id)
    }

    fn named(&mut self, name: &str, namespace: &str) -> Result<TypeId, SchemaError> {
        if let Some(kind) = primitive(name) {
            return self.place(|_, _| Ok(kind));
        }
        let full = full_name(name, namespace)?;
        self.names.get(&full).copied().ok_or(SchemaError::Name(full))
    }

    fn object(&mut self, object: &'j Map<String, Value>, namespace: &str) -> Result<TypeId, SchemaError> {
        let first_new = self.types.len();
        let id = match object.get("type") {
            Some(Value::String(name)) => match name.as_str() {
                "record" => self.place(|this, id| this.record(object, namespace, id)),
                "enum" => self.place(|this, id| this.symbols(object, namespace, id)),
                "fixed" => self.place(|this, id| this.fixed(object, namespace, id)),
                "array" => self.place(|this, _| Ok(Kind::Array(this.part(object, "items", namespace)?))),
                "map" => self.place(|this, _| Ok(Kind::Map(this.part(object, "values", namespace)?))),
                name => self.named(name, namespace),
            },
            Some(nested) => self.add(nested, namespace),
            None => Err(wrong("a type has no \"type\"")),
        }?;
        // A logical type belongs to a definition, not to a reference.
        if id.index() >= first_new
            && let Some(Value::String(name)) = object.get("logicalType")
            && let Some(place) = self.types.get_mut(id.index())
            && place.logical.is_none()
        {
            place.logical = logical(name, &place.kind, object);
        }
        Ok(id)
    }

    fn part(&mut self, object: &'j Map<String, Value>, key: &str, namespace: &str) -> Result<TypeId, SchemaError> {
        let json = object.get(key).ok_or_else(|| wrong(format!("an array or a map has no {key:?}")))?;
        self.add(json, namespace)
    }

    fn union(&mut self, branches: &'j [Value], namespace: &str) -> Result<Kind, SchemaError> {
        let mut ids = Vec::with_capacity(branches.len());
        let mut unnamed = [false; UNNAMED_KINDS.len()];
        let mut named = HashSet::new();
        for branch in branches {
            let id = self.add(branch, namespace)?;
            let kind = self.types.get(id.index()).map_or(&Kind::Null, |found| &found.kind);
            let is_new = match kind {
                Kind::Union(_) => return Err(wrong("a union is directly within a union; merge them")),
                Kind::Record(_) | Kind::Enum(_) | Kind::Fixed(_) => named.insert(id),
                kind => {
                    let text = kind.to_string();
                    let place = UNNAMED_KINDS.iter().position(|name| *name == text);
                    let place = place.and_then(|place| unnamed.get_mut(place));
                    place.is_some_and(|is_known| !std::mem::replace(is_known, true))
                }
            };
            if !is_new {
                return Err(wrong(format!("a union has two branches of one type, {kind}; remove one")));
            }
            ids.push(id);
        }
        Ok(Kind::Union(ids.into()))
    }

    fn record(&mut self, object: &'j Map<String, Value>, namespace: &str, id: TypeId) -> Result<Kind, SchemaError> {
        let name = self.define(object, namespace, id)?;
        let namespace = name.full.rsplit_once('.').map_or("", |(namespace, _)| namespace);
        // References from inside the record find a record.
        if let Some(place) = self.types.get_mut(id.index()) {
            place.kind = Kind::Record(Box::new(Record { name: name.clone(), fields: Vec::new() }));
        }
        let Some(Value::Array(list)) = object.get("fields") else {
            return Err(wrong(format!("the record {:?} has no list of \"fields\"", name.full)));
        };
        let mut fields = Vec::with_capacity(list.len());
        let mut seen = HashSet::with_capacity(list.len());
        for (index, field) in list.iter().enumerate() {
            let within = |what: &str| wrong(format!("field {index} of the record {:?} {what}", name.full));
            let Some(field_name) = field.get("name").and_then(Value::as_str) else {
                return Err(within("has no \"name\""));
            };
            if !is_name(field_name) {
                return Err(within(&format!("is called {field_name:?}: {NAME_RULE}")));
            }
            if !seen.insert(field_name) {
                return Err(within(&format!("is called {field_name:?}, like an earlier field; rename one")));
            }
            let json = field.get("type").ok_or_else(|| within("has no \"type\""))?;
            let type_id = self.add(json, namespace)?;
            // Added after the field's type, so that nested defaults come first.
            if let Some(value) = field.get("default") {
                self.defaults.push(defaults::Given { record: id, field: index, value });
            }
            let aliases = field.get("aliases").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let aliases = aliases.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            // Names have no characters to escape.
            let json_key = format!("\"{field_name}\":").into();
            fields.push(Field { name: field_name.to_owned(), aliases, type_id, default: None, json_key });
        }
        Ok(Kind::Record(Box::new(Record { name, fields })))
    }

    fn symbols(&mut self, object: &'j Map<String, Value>, namespace: &str, id: TypeId) -> Result<Kind, SchemaError> {
        let name = self.define(object, namespace, id)?;
        let list = object.get("symbols").and_then(Value::as_array);
        let symbols: Option<Vec<String>> =
            list.and_then(|list| list.iter().map(|symbol| symbol.as_str().map(str::to_owned)).collect());
        let symbols = symbols.ok_or_else(|| wrong(format!("the enum {:?} has no list of \"symbols\"", name.full)))?;
        let mut seen = HashSet::with_capacity(symbols.len());
        for symbol in &symbols {
            if !is_name(symbol) {
                return Err(wrong(format!("the enum {:?} has the symbol {symbol:?}: {NAME_RULE}", name.full)));
            }
            if !seen.insert(symbol) {
                return Err(wrong(format!("the enum {:?} has the duplicate symbol {symbol:?}; remove one", name.full)));
            }
        }
        let default = match object.get("default") {
            None => None,
            Some(Value::String(default)) => {
                let index = symbols.iter().position(|symbol| symbol == default);
                let index = index.and_then(|index| u32::try_from(index).ok());
                Some(index.ok_or_else(|| SchemaError::Name(default.clone()))?)
            }
            Some(other) => {
                return Err(wrong(format!("the default of the enum {:?} is {other}, not a symbol", name.full)));
            }
        };
        Ok(Kind::Enum(Box::new(Enum { name, symbols, default })))
    }

    fn fixed(&mut self, object: &'j Map<String, Value>, namespace: &str, id: TypeId) -> Result<Kind, SchemaError> {
        let name = self.define(object, namespace, id)?;
        let size = object.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| wrong(format!("the fixed type {:?} has no \"size\" in bytes", name.full)))?;
        Ok(Kind::Fixed(Box::new(Fixed { name, size })))
    }

    /// Registers the name of the type at `id`, by which later types refer to it.
    fn define(&mut self, object: &Map<String, Value>, namespace: &str, id: TypeId) -> Result<Name, SchemaError> {
        let name = object.get("name").and_then(Value::as_str).ok_or_else(|| {
            let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
            wrong(format!("a type of kind {kind} has no \"name\""))
        })?;
        let full = full_name(name, object.get("namespace").and_then(Value::as_str).unwrap_or(namespace))?;
        if self.names.insert(full.clone(), id).is_some() {
            return Err(SchemaError::Twice(full));
        }
        let within = full.rsplit_once('.').map_or("", |(namespace, _)| namespace);
        let aliases = object.get("aliases").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let aliases: Result<_, _> =
            aliases.iter().filter_map(Value::as_str).map(|alias| full_name(alias, within)).collect();
        Ok(Name { aliases: aliases?, full })
    }
}

#[cold]
fn wrong(reason: impl Into<String>) -> SchemaError {
    SchemaError::Json(reason.into())
}

const NAME_RULE: &str = "a name consists of letters, digits and \"_\", and doesn't begin with a digit";

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A name with its namespace: its own if it has dots, otherwise the enclosing one.
fn full_name(name: &str, namespace: &str) -> Result<String, SchemaError> {
    let full = match name.strip_prefix('.') {
        Some(name) if !name.contains('.') => name.to_owned(),
        _ if name.contains('.') || namespace.is_empty() => name.to_owned(),
        _ => format!("{namespace}.{name}"),
    };
    match full.split('.').all(is_name) {
        true => Ok(full),
        false => Err(wrong(format!("{full:?} is not a valid type name: {NAME_RULE}; dots separate its namespace"))),
    }
}

fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}

/// The logical type with this name, if it applies to this kind.
fn logical(name: &str, kind: &Kind, object: &Map<String, Value>) -> Option<Logical> {
    let number = |key| match object.get(key) {
        None => Some(0),
        Some(value) => value.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    match (name, kind) {
        ("decimal", Kind::Bytes | Kind::Fixed(_)) => {
            let (precision, scale) = (number("precision")?, number("scale")?);
            (precision >= 1 && precision >= scale).then_some(Logical::Decimal { precision, scale })
        }
        ("big-decimal", Kind::Bytes) => Some(Logical::BigDecimal),
        ("uuid", Kind::String | Kind::Bytes) => Some(Logical::Uuid),
        ("uuid", Kind::Fixed(fixed)) => (fixed.size == 16).then_some(Logical::Uuid),
        ("date", Kind::Int) => Some(Logical::Date),
        ("time-millis", Kind::Int) => Some(Logical::TimeMillis),
        ("time-micros", Kind::Long) => Some(Logical::TimeMicros),
        ("timestamp-millis", Kind::Long) => Some(Logical::TimestampMillis),
        ("timestamp-micros", Kind::Long) => Some(Logical::TimestampMicros),
        ("timestamp-nanos", Kind::Long) => Some(Logical::TimestampNanos),
        ("local-timestamp-millis", Kind::Long) => Some(Logical::LocalTimestampMillis),
        ("local-timestamp-micros", Kind::Long) => Some(Logical::LocalTimestampMicros),
        ("local-timestamp-nanos", Kind::Long) => Some(Logical::LocalTimestampNanos),
        ("duration", Kind::Fixed(fixed)) => (fixed.size == 12).then_some(Logical::Duration),
        _ => None,
    }
}
