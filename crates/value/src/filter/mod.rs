//! Conditions on fields of a value, checked on its bytes: `id.resp_p=53/udp and id.orig_h=10.0.0.0/8`.
//!
//! Nothing is decoded but the fields on the path, and nothing is allocated. docs/values.md describes the text.

mod literal;
mod parse;

use crate::item::{Item, ItemReader};
use crate::{Kind, Limits, ValueError};
use literal::Literal;
pub use parse::FilterError;
use std::cmp::Ordering;

/// Maximum length of a filter's text in bytes: it is checked against every record.
pub const FILTER_BYTES_MAX: usize = 1024;

/// Maximum number of conditions, for the same reason.
pub const CONDITIONS_MAX: usize = 16;

/// Conditions that a value must all fulfil. Parsed from text.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    conditions: Vec<Condition>,
}

/// A field and the value that it is compared with.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    path: String,
    operator: Operator,
    literal: Literal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Filter {
    /// Whether the value in `bytes` fulfils all conditions. Bytes that aren't a value up to the fields that are looked
    /// at don't; those after them aren't read.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(bytes, Some(&condition.path)).unwrap_or(false))
    }
}

impl Condition {
    /// Whether a field at the rest of the path fulfils the condition; `None` is the end of the path. A path that can be
    /// read in several ways, since keys may contain dots, is tried in each.
    fn holds(&self, bytes: &[u8], path: Option<&str>) -> Result<bool, ValueError> {
        let mut reader = ItemReader::new(bytes, &Limits::default())?;
        let item = reader.item()?;
        let Some(path) = path else { return Ok(self.compares(item)) };
        match item {
            Item::Table(pairs) => {
                for _ in 0..pairs {
                    let is_string = reader.rest().first() == Some(&(Kind::String as u8));
                    let key = reader.text()?;
                    if key.is_none() {
                        reader.value()?;
                    }
                    let rest = key.filter(|_| is_string).and_then(|key| after(path, key));
                    let value = reader.value()?;
                    if let Some(rest) = rest
                        && self.holds(value, rest)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Item::Vector(elements) => {
                let (index, rest) = path.split_once('.').map_or((path, None), |(index, rest)| (index, Some(rest)));
                let Some(index) = index_of(index).filter(|index| *index < elements) else { return Ok(false) };
                for _ in 0..index {
                    reader.value()?;
                }
                self.holds(reader.rest(), rest)
            }
            _ => Ok(false),
        }
    }

    fn compares(&self, item: Item<'_>) -> bool {
        if let (Item::Address(address), Some(is_inside)) = (item, self.literal.subnet_test()) {
            return match self.operator {
                Operator::Equal => is_inside(address),
                Operator::NotEqual => !is_inside(address),
                // A network has no place among addresses.
                _ => false,
            };
        }
        self.literal.order(item).is_some_and(|order| self.operator.holds(order))
    }
}

/// The rest of a path after a key: `Some(None)` if it is empty, `None` if the key isn't its beginning.
fn after<'p>(path: &'p str, key: &[u8]) -> Option<Option<&'p str>> {
    if path.as_bytes() == key {
        return Some(None);
    }
    let key = std::str::from_utf8(key).ok()?;
    path.strip_prefix(key)?.strip_prefix('.').map(Some)
}

/// An index without a sign and without leading zeros, so that each element has one name.
fn index_of(text: &str) -> Option<usize> {
    let is_canonical = text == "0" || text.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    if is_canonical { text.parse().ok() } else { None }
}
