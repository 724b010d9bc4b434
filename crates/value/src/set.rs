//! A set of values: ascending, each once.

use crate::Value;
use crate::value::{duplicates, values_ascend};

/// Values in the format's order, without duplicates. By the format's rule, a NaN is a duplicate of any other real, and
/// `0.0` of `-0.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Set(Vec<Value>);

/// A duplicate element of a set or key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an element of a set or a key of a table is duplicate; give each once")]
pub struct NotUnique;

impl Set {
    /// An empty set.
    pub fn new() -> Set {
        Set(Vec::new())
    }

    /// Creates a set from values in any order.
    pub fn from_values(mut values: Vec<Value>) -> Result<Set, NotUnique> {
        if !values.is_sorted_by(values_ascend) {
            values.sort_unstable();
            if values.windows(2).any(|pair| matches!(pair, [left, right] if duplicates(left, right))) {
                return Err(NotUnique);
            }
        }
        Ok(Set(values))
    }

    /// Adds a value; returns false if it is a duplicate. Moves the elements after it: to fill a large set, collect it.
    pub fn insert(&mut self, value: Value) -> bool {
        let Err(place) = self.0.binary_search(&value) else {
            return false;
        };
        let twin = |neighbour: Option<&Value>| neighbour.is_some_and(|other| duplicates(other, &value));
        if twin(place.checked_sub(1).and_then(|place| self.0.get(place))) || twin(self.0.get(place)) {
            return false;
        }
        self.0.insert(place, value);
        true
    }

    /// Whether the set contains the value. O(log n).
    pub fn contains(&self, value: &Value) -> bool {
        self.0.binary_search(value).is_ok()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values, ascending.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.0.iter()
    }

    /// The values, ascending.
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }

    /// The values, ascending, owned.
    pub fn into_vec(self) -> Vec<Value> {
        self.0
    }
}

impl FromIterator<Value> for Set {
    /// Collects values into a set; keeps one of duplicates.
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Set {
        let mut values: Vec<Value> = values.into_iter().collect();
        values.sort();
        values.dedup_by(|right, left| duplicates(left, right));
        Set(values)
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Set {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
