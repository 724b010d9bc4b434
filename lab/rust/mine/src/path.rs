//! The one field to read: selected, found in the messages, and read from bytes with serde.

use crate::error::LabError;
use crate::sample::Message;
use crate::shape::{Shape, schema_name};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use std::fmt;

/// Keys from the message to the field, and their names in schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// As the messages have them.
    pub keys: Vec<String>,
    /// As schemas have them.
    pub names: Vec<String>,
}

/// A step from a value to one in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Of an object or a map.
    Key(String),
    /// Of a list.
    Index(usize),
}

impl FieldPath {
    /// The field that `text` names: keys joined by dots, where a key may contain dots itself.
    pub fn find(text: &str, shape: &Shape) -> Result<FieldPath, LabError> {
        let mut path = FieldPath { keys: Vec::new(), names: Vec::new() };
        let (mut shape, mut rest) = (shape, text);
        while !rest.is_empty() {
            match shape {
                Shape::Record(slots) => {
                    // The longest key that fits, so that `id.orig_h` is found as one.
                    let slot = slots
                        .iter()
                        .filter(|slot| after(rest, &slot.key).is_some())
                        .max_by_key(|slot| slot.key.len())
                        .ok_or_else(|| no_such_field(text, rest, slots.iter().map(|slot| slot.key.as_str())))?;
                    rest = after(rest, &slot.key).unwrap_or_default();
                    path.keys.push(slot.key.clone());
                    path.names.push(slot.name.clone());
                    shape = &slot.shape;
                }
                Shape::Map(inner) => {
                    let (key, tail) = rest.split_once('.').unwrap_or((rest, ""));
                    path.keys.push(key.to_owned());
                    path.names.push(key.to_owned());
                    (shape, rest) = (inner, tail);
                }
                _ => {
                    return Err(LabError::Sample(format!(
                        "--field {text}: {} has no fields, so there is no {rest} in it; the way to a field goes \
                         through objects",
                        path.keys.join(".")
                    )));
                }
            }
        }
        if path.keys.is_empty() {
            return Err(LabError::Sample("--field is empty: name a field, such as customer.name".to_owned()));
        }
        Ok(path)
    }

    /// The default field: a string that every message has, nearest to the message's middle; without
    /// one the number, and then whatever is there.
    pub fn by_default(shape: &Shape) -> Result<FieldPath, LabError> {
        let Shape::Record(slots) = shape else {
            return Err(LabError::Sample("the messages are no objects with fields".to_owned()));
        };
        let middle = slots.len() / 2;
        let rank = |shape: &Shape| match shape {
            Shape::Text => 0,
            Shape::Integer | Shape::Real => 1,
            Shape::Boolean => 2,
            _ => 3,
        };
        let (_, slot) = slots
            .iter()
            .enumerate()
            .min_by_key(|(index, slot)| (slot.optional, rank(&slot.shape), index.abs_diff(middle)))
            .ok_or_else(|| LabError::Sample("the messages have no fields".to_owned()))?;
        Ok(FieldPath { keys: vec![slot.key.clone()], names: vec![slot.name.clone()] })
    }

    /// As `--field` takes it.
    pub fn text(&self) -> String {
        self.keys.join(".")
    }

    /// The names that a schema of the user's has for the keys.
    pub fn schema_names(&self) -> Vec<String> {
        self.keys.iter().map(|key| schema_name(key)).collect()
    }

    /// The steps in messages with names.
    pub fn by_name(&self) -> Vec<Place> {
        self.keys.iter().cloned().map(Place::Key).collect()
    }

    /// The steps in messages whose records are lists of their fields, [`crate::shape::listed`].
    pub fn by_index(&self, shape: &Shape) -> Result<Vec<Place>, String> {
        let mut at = shape;
        let step = |key: &String| match at {
            Shape::Record(slots) => {
                let index = slots.iter().position(|slot| slot.key == *key).ok_or("its field has no place")?;
                at = slots.get(index).map_or(&Shape::Unknown, |slot| &slot.shape);
                Ok(Place::Index(index))
            }
            Shape::Map(inner) => {
                at = inner;
                Ok(Place::Key(key.clone()))
            }
            _ => Err("its field has no place".to_owned()),
        };
        self.keys.iter().map(step).collect()
    }

    /// The value at the path.
    pub fn of<'j>(&self, json: &'j Json) -> Option<&'j Json> {
        self.keys.iter().try_fold(json, |json, key| json.get(key)).filter(|value| !value.is_null())
    }

    /// The share of messages that have it.
    pub fn share(&self, messages: &[Message]) -> f64 {
        let there = messages.iter().filter(|message| self.of(&message.json).is_some()).count();
        there as f64 / messages.len().max(1) as f64
    }
}

/// The rest after the key and its dot, if the text begins with the key.
fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(key)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.').filter(|rest| !rest.is_empty()) }
}

fn no_such_field<'k>(text: &str, rest: &str, keys: impl Iterator<Item = &'k str>) -> LabError {
    let keys: Vec<&str> = keys.take(30).collect();
    LabError::Sample(format!("--field {text}: there is no {rest}; there are {}", keys.join(", ")))
}

/// A number that depends on a value, so that the compiler can't drop the read.
pub fn mark(json: &Json) -> u64 {
    match json {
        Json::String(text) => mark_text(text),
        Json::Number(number) => mark_number(number.as_f64().unwrap_or_default()),
        Json::Bool(value) => 2 + u64::from(*value),
        _ => 1,
    }
}

/// A text's mark.
pub fn mark_text(text: &str) -> u64 {
    text.len() as u64 + 16 + u64::from(text.as_bytes().first().copied().unwrap_or_default())
}

/// A number's mark.
pub fn mark_number(number: f64) -> u64 {
    number.to_bits() | 1
}

/// Reads the field's mark with serde and skips the rest; 0 if the field is missing.
pub struct FieldSeed<'p>(pub &'p [Place]);

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        match self.0.first() {
            None => deserializer.deserialize_any(self),
            Some(Place::Key(_)) => deserializer.deserialize_map(self),
            Some(Place::Index(_)) => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = u64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a message")
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(2 + u64::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(mark_number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(mark_number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        Ok(mark_number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(mark_text(value))
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_none<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<u64, A::Error> {
        let mut mark = 1;
        if let Some((Place::Index(wanted), rest)) = self.0.split_first() {
            for _ in 0..*wanted {
                sequence.next_element::<IgnoredAny>()?;
            }
            mark = sequence.next_element_seed(FieldSeed(rest))?.unwrap_or_default();
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(mark)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let Some((Place::Key(wanted), rest)) = self.0.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(1);
        };
        let mut mark = 0;
        while let Some(is_wanted) = map.next_key_seed(KeyIs(wanted))? {
            if is_wanted {
                mark = map.next_value_seed(FieldSeed(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(mark)
    }
}

/// Whether a key is the wanted one, without a copy of it.
struct KeyIs<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, value: &str) -> Result<bool, E> {
        Ok(value == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Seen;
    use serde_json::json;

    fn shape() -> Shape {
        let mut seen = Seen::default();
        seen.add(&json!({"n": 1, "id.host": "a", "customer": {"name": "x", "age": 3}}));
        seen.shape()
    }

    #[test]
    fn keys_with_points_and_nested_keys_are_found() {
        assert_eq!(FieldPath::find("id.host", &shape()).unwrap().keys, ["id.host"]);
        assert_eq!(FieldPath::find("customer.name", &shape()).unwrap().keys, ["customer", "name"]);
        let error = FieldPath::find("customer.nick", &shape()).unwrap_err().to_string();
        assert!(error.contains("there is no nick") && error.contains("age, name"), "{error}");
        assert!(FieldPath::find("n.x", &shape()).unwrap_err().to_string().contains("n has no fields"));
        assert_eq!(FieldPath::by_default(&shape()).unwrap().keys, ["id.host"]);
    }

    #[test]
    fn the_seed_reads_what_the_tree_has() {
        let message = json!({"a": [1, {"b": 2}], "customer": {"age": 3, "name": "x"}, "z": null});
        for keys in [&["customer", "name"][..], &["customer", "age"], &["a"], &["customer"]] {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            let path = FieldPath { names: keys.clone(), keys };
            let read = FieldSeed(&path.by_name()).deserialize(&message).unwrap();
            assert_eq!(read, path.of(&message).map_or(0, mark), "{path:?}");
        }
        assert_eq!(FieldSeed(&[Place::Key("z".to_owned())]).deserialize(&message).unwrap(), 0);
    }

    #[test]
    fn the_seed_finds_a_field_by_its_place_in_lists() {
        let path = FieldPath::find("customer.name", &shape()).unwrap();
        let message = json!({"n": 7, "id.host": "a", "customer": {"name": "xyz", "age": 3}});
        let list = crate::shape::listed(&shape(), &message);
        let places = path.by_index(&shape()).unwrap();
        assert!(places.iter().all(|place| matches!(place, Place::Index(_))), "{places:?}");
        assert_eq!(FieldSeed(&places).deserialize(&list).unwrap(), mark_text("xyz"));
        let without = crate::shape::listed(&shape(), &json!({"n": 7}));
        assert_eq!(FieldSeed(&places[..1]).deserialize(&without).unwrap(), 0);
    }
}
