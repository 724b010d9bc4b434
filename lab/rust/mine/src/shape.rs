//! What messages have in common: types for a schema, inferred from values.

use serde_json::{Map, Value as Json};
use std::collections::{HashMap, HashSet};

/// More keys than this whose values are of one type, half of them missing in most objects, are a map's.
const SPARSE_FIELDS_MAX: usize = 16;
/// More keys than this whose values are of one type are a map's even where none is missing.
const ALIKE_FIELDS_MAX: usize = 256;
/// An object with more keys than this is a map, whatever its values are: schemas aren't that long.
const RECORD_FIELDS_MAX: usize = 4096;

/// The values seen at one path of all messages.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    nulls: u64,
    booleans: u64,
    integers: u64,
    /// Integers beyond 64 bits with a sign.
    large: u64,
    reals: u64,
    texts: u64,
    lists: u64,
    objects: u64,
    elements: Option<Box<Seen>>,
    fields: Vec<(String, Seen)>,
    places: HashMap<String, usize>,
}

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Only null was seen, or nothing.
    Unknown,
    /// `true`, `false`.
    Boolean,
    /// Whole numbers of 64 bits with a sign.
    Integer,
    /// Numbers.
    Real,
    /// Strings.
    Text,
    /// Values of several types: schemas carry them as their JSON text.
    Mixed,
    /// Values of one type.
    List(Box<Shape>),
    /// Values of one type under any keys.
    Map(Box<Shape>),
    /// Fields with their own types.
    Record(Vec<Slot>),
}

/// A record's field.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Its key in the messages.
    pub key: String,
    /// Its name in schemas, which have fewer letters.
    pub name: String,
    /// Its type.
    pub shape: Shape,
    /// Whether it is absent or null in some messages.
    pub optional: bool,
}

impl Seen {
    /// Takes note of a value.
    pub fn add(&mut self, json: &Json) {
        match json {
            Json::Null => self.nulls += 1,
            Json::Bool(_) => self.booleans += 1,
            Json::Number(number) if number.is_i64() => self.integers += 1,
            Json::Number(number) if number.is_u64() => self.large += 1,
            Json::Number(_) => self.reals += 1,
            Json::String(_) => self.texts += 1,
            Json::Array(elements) => {
                self.lists += 1;
                let seen = self.elements.get_or_insert_default();
                elements.iter().for_each(|element| seen.add(element));
            }
            Json::Object(fields) => {
                self.objects += 1;
                for (key, value) in fields {
                    self.field(key).add(value);
                }
            }
        }
    }

    fn field(&mut self, key: &str) -> &mut Seen {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => {
                self.places.insert(key.to_owned(), self.fields.len());
                self.fields.push((key.to_owned(), Seen::default()));
                self.fields.len() - 1
            }
        };
        match self.fields.get_mut(place) {
            Some((_, seen)) => seen,
            None => unreachable!("a place is kept for each field that was pushed"),
        }
    }

    fn merge(&mut self, other: &Seen) {
        self.nulls += other.nulls;
        self.booleans += other.booleans;
        self.integers += other.integers;
        self.large += other.large;
        self.reals += other.reals;
        self.texts += other.texts;
        self.lists += other.lists;
        self.objects += other.objects;
        if let Some(elements) = &other.elements {
            self.elements.get_or_insert_default().merge(elements);
        }
        for (key, seen) in &other.fields {
            self.field(key).merge(seen);
        }
    }

    /// Values other than null.
    fn count(&self) -> u64 {
        self.booleans + self.integers + self.large + self.reals + self.texts + self.lists + self.objects
    }

    /// The type that fits all that was seen.
    pub fn shape(&self) -> Shape {
        let numbers = self.integers + self.large + self.reals;
        let kinds = [self.booleans, numbers, self.texts, self.lists, self.objects];
        match kinds.iter().filter(|count| **count > 0).count() {
            0 => return Shape::Unknown,
            1 => {}
            _ => return Shape::Mixed,
        }
        if self.booleans > 0 {
            Shape::Boolean
        } else if self.reals > 0 && self.large == 0 {
            Shape::Real
        } else if self.large > 0 {
            Shape::Mixed
        } else if self.integers > 0 {
            Shape::Integer
        } else if self.texts > 0 {
            Shape::Text
        } else if self.lists > 0 {
            Shape::List(Box::new(self.elements.as_ref().map_or(Shape::Unknown, |seen| seen.element_shape())))
        } else {
            self.object_shape()
        }
    }

    /// An element's or a map's value's type: schemas have no null there without more ado.
    fn element_shape(&self) -> Shape {
        if self.nulls > 0 && self.count() > 0 { Shape::Mixed } else { self.shape() }
    }

    fn object_shape(&self) -> Shape {
        let held: u64 = self.fields.iter().map(|(_, seen)| seen.count() + seen.nulls).sum();
        let mean = held as f64 / self.objects.max(1) as f64;
        if self.fields.len() > SPARSE_FIELDS_MAX {
            let mut values = Seen::default();
            self.fields.iter().for_each(|(_, seen)| values.merge(seen));
            let values = values.element_shape();
            let is_sparse = mean < self.fields.len() as f64 / 2.0;
            let is_alike = values != Shape::Mixed && (is_sparse || self.fields.len() > ALIKE_FIELDS_MAX);
            if is_alike || self.fields.len() > RECORD_FIELDS_MAX {
                return Shape::Map(Box::new(values));
            }
        }
        let mut taken = HashSet::new();
        let slots = self.fields.iter().map(|(key, seen)| {
            let mut name = schema_name(key);
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            Slot { key: key.clone(), name, shape: seen.shape(), optional: seen.count() < self.objects }
        });
        Shape::Record(slots.collect())
    }
}

/// A name that schemas allow: letters of ASCII, digits and underscores, no digit in front.
pub fn schema_name(key: &str) -> String {
    let mut name: String =
        key.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// A message as the inferred schemas have it: their names, and what is of several types as its JSON text. Protobuf has
/// no lists in lists or maps: with `wrapped` such a list is an object with the field `items`.
pub fn fit(shape: &Shape, json: &Json, wrapped: bool) -> Json {
    let nested = |inner: &Shape, value: &Json| match inner {
        Shape::List(_) | Shape::Map(_) if wrapped => {
            Json::Object(Map::from_iter([("items".to_owned(), fit(inner, value, wrapped))]))
        }
        _ => fit(inner, value, wrapped),
    };
    match (shape, json) {
        (_, Json::Null) => Json::Null,
        (Shape::Mixed, value) => Json::String(value.to_string()),
        (Shape::List(inner), Json::Array(elements)) => elements.iter().map(|element| nested(inner, element)).collect(),
        (Shape::Map(inner), Json::Object(fields)) => {
            fields.iter().map(|(key, value)| (key.clone(), nested(inner, value))).collect()
        }
        (Shape::Record(slots), Json::Object(fields)) => slots
            .iter()
            .filter_map(|slot| match fields.get(&slot.key).filter(|value| !value.is_null()) {
                Some(value) => Some((slot.name.clone(), fit(&slot.shape, value, wrapped))),
                // Avro writes an absent field's null in its place, Protobuf nothing.
                None => (slot.optional && !wrapped).then(|| (slot.name.clone(), Json::Null)),
            })
            .collect(),
        (_, value) => value.clone(),
    }
}

/// A message with each record as the list of its fields in the shape's order, absent ones as null.
pub fn listed(shape: &Shape, json: &Json) -> Json {
    match (shape, json) {
        (Shape::Record(slots), Json::Object(fields)) => slots
            .iter()
            .map(|slot| fields.get(&slot.key).map_or(Json::Null, |json| listed(&slot.shape, json)))
            .collect(),
        (Shape::List(inner), Json::Array(elements)) => elements.iter().map(|json| listed(inner, json)).collect(),
        (Shape::Map(inner), Json::Object(fields)) => {
            fields.iter().map(|(key, json)| (key.clone(), listed(inner, json))).collect()
        }
        _ => json.clone(),
    }
}

/// The Avro schema of that shape.
pub fn avro_schema(shape: &Shape) -> String {
    let schema = avro_type(shape, "Message");
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

fn avro_type(shape: &Shape, name: &str) -> Json {
    use serde_json::json;
    match shape {
        Shape::Boolean => json!("boolean"),
        Shape::Integer => json!("long"),
        Shape::Real => json!("double"),
        Shape::Unknown | Shape::Text | Shape::Mixed => json!("string"),
        Shape::List(inner) => json!({ "type": "array", "items": avro_type(inner, &format!("{name}_item")) }),
        Shape::Map(inner) => json!({ "type": "map", "values": avro_type(inner, &format!("{name}_value")) }),
        Shape::Record(slots) => {
            let field = |slot: &Slot| {
                let of_slot = avro_type(&slot.shape, &format!("{name}_{}", slot.name));
                if slot.optional {
                    json!({ "name": slot.name, "type": ["null", of_slot], "default": null })
                } else {
                    json!({ "name": slot.name, "type": of_slot })
                }
            };
            let fields: Vec<Json> = slots.iter().map(field).collect();
            json!({ "type": "record", "name": name, "fields": fields })
        }
    }
}

/// The Protobuf schema of that shape, its message named `Message`.
pub fn proto_schema(shape: &Shape) -> String {
    let mut messages = Vec::new();
    let root = match shape {
        Shape::Record(slots) => slots.as_slice(),
        _ => &[],
    };
    proto_message("Message", root, &mut messages);
    messages.reverse();
    format!("syntax = \"proto3\";\n\n{}", messages.join("\n"))
}

fn proto_message(name: &str, slots: &[Slot], messages: &mut Vec<String>) {
    let mut text = format!("message {name} {{\n");
    for (index, slot) in slots.iter().enumerate() {
        let of_slot = proto_type(&slot.shape, &format!("{name}_{}", slot.name), messages);
        let is_scalar = !matches!(slot.shape, Shape::List(_) | Shape::Map(_) | Shape::Record(_));
        let optional = if slot.optional && is_scalar { "optional " } else { "" };
        text.push_str(&format!("  {optional}{of_slot} {} = {};\n", slot.name, field_number(index)));
    }
    text.push_str("}\n");
    messages.push(text);
}

/// Numbers from 19000 to 19999 are Protobuf's own.
fn field_number(index: usize) -> usize {
    if index + 1 < 19_000 { index + 1 } else { index + 1001 }
}

fn proto_type(shape: &Shape, name: &str, messages: &mut Vec<String>) -> String {
    match shape {
        Shape::Boolean => "bool".to_owned(),
        Shape::Integer => "int64".to_owned(),
        Shape::Real => "double".to_owned(),
        Shape::Unknown | Shape::Text | Shape::Mixed => "string".to_owned(),
        Shape::List(inner) => format!("repeated {}", proto_element(inner, name, messages)),
        Shape::Map(inner) => format!("map<string, {}>", proto_element(inner, name, messages)),
        Shape::Record(slots) => {
            proto_message(name, slots, messages);
            name.to_owned()
        }
    }
}

fn proto_element(shape: &Shape, name: &str, messages: &mut Vec<String>) -> String {
    match shape {
        Shape::List(_) | Shape::Map(_) => {
            let wrapper = format!("{name}_items");
            let slot =
                Slot { key: "items".to_owned(), name: "items".to_owned(), shape: shape.clone(), optional: false };
            proto_message(&wrapper, &[slot], messages);
            wrapper
        }
        _ => proto_type(shape, name, messages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shape_of(messages: &[Json]) -> Shape {
        let mut seen = Seen::default();
        messages.iter().for_each(|message| seen.add(message));
        seen.shape()
    }

    #[test]
    fn types_absence_and_names_are_inferred() {
        let shape = shape_of(&[
            json!({"id.host": "a", "n": 1, "x": 1, "l": [[1], []], "nested": {"deep": true}}),
            json!({"id.host": "b", "n": 2, "x": 0.5, "l": [], "m": "text"}),
            json!({"id.host": "c", "n": 3, "x": 2, "l": [], "m": 5, "nested": null}),
        ]);
        let Shape::Record(slots) = &shape else { panic!("{shape:?}") };
        let slot = |name: &str| slots.iter().find(|slot| slot.name == name).unwrap();
        assert_eq!((&slot("id_host").shape, slot("id_host").optional), (&Shape::Text, false));
        assert_eq!(slot("n").shape, Shape::Integer);
        assert_eq!(slot("x").shape, Shape::Real);
        assert_eq!(slot("l").shape, Shape::List(Box::new(Shape::List(Box::new(Shape::Integer)))));
        assert_eq!((&slot("m").shape, slot("m").optional), (&Shape::Mixed, true));
        assert!(slot("nested").optional);
        let message = json!({"id.host": "a", "n": 1, "x": 1.5, "l": [[1]], "m": 5});
        assert_eq!(
            fit(&shape, &message, false),
            json!({"id_host": "a", "n": 1, "x": 1.5, "l": [[1]], "nested": null, "m": "5"})
        );
        assert_eq!(
            fit(&shape, &message, true),
            json!({"id_host": "a", "n": 1, "x": 1.5, "l": [{"items": [1]}], "m": "5"})
        );
    }

    #[test]
    fn many_keys_each_in_few_objects_are_a_map() {
        let messages: Vec<Json> = (0..100).map(|i| json!({"tags": {format!("key{i}"): "v", "common": "w"}})).collect();
        let Shape::Record(slots) = shape_of(&messages) else { panic!() };
        assert_eq!(slots[0].shape, Shape::Map(Box::new(Shape::Text)));
        let wide: Json = (0..300).map(|i| (format!("key{i}"), json!(i))).collect();
        let Shape::Record(slots) = shape_of(&[json!({"row": wide})]) else { panic!() };
        assert_eq!(slots[0].shape, Shape::Map(Box::new(Shape::Integer)));
    }

    #[test]
    fn two_keys_never_share_a_name() {
        let Shape::Record(slots) = shape_of(&[json!({"a.b": 1, "a_b": 2, "1": 3})]) else { panic!() };
        let names: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(names, ["_1", "a_b", "a_b_"]);
    }
}
