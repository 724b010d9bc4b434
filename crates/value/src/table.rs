//! A table of keys and values: ascending by key, each key once.

use crate::value::{duplicates, values_ascend};
use crate::{NotUnique, Value};

/// Pairs ascending by key in the format's order, without duplicate keys as defined for [`Set`](crate::Set).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Table(Vec<(Value, Value)>);

impl Table {
    /// An empty table.
    pub fn new() -> Table {
        Table(Vec::new())
    }

    /// Creates a table from pairs in any order.
    pub fn from_pairs(mut pairs: Vec<(Value, Value)>) -> Result<Table, NotUnique> {
        if !pairs.is_sorted_by(|left, right| values_ascend(&left.0, &right.0)) {
            pairs.sort_unstable_by(|left, right| left.0.cmp(&right.0));
            if pairs.windows(2).any(|pair| matches!(pair, [left, right] if duplicates(&left.0, &right.0))) {
                return Err(NotUnique);
            }
        }
        Ok(Table(pairs))
    }

    /// Inserts a pair. Returns it, and changes nothing, if the key exists.
    /// Moves the pairs after it: to fill a large table, collect it.
    pub fn insert(&mut self, key: Value, value: Value) -> Result<(), (Value, Value)> {
        let Err(place) = self.place(&key) else {
            return Err((key, value));
        };
        let twin = |neighbour: Option<&(Value, Value)>| neighbour.is_some_and(|(other, _)| duplicates(other, &key));
        if twin(place.checked_sub(1).and_then(|place| self.0.get(place))) || twin(self.0.get(place)) {
            return Err((key, value));
        }
        self.0.insert(place, (key, value));
        Ok(())
    }

    /// The value of a key. O(log n).
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.place(key).ok().and_then(|place| self.0.get(place)).map(|(_, value)| value)
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, ascending by key.
    pub fn iter(&self) -> std::slice::Iter<'_, (Value, Value)> {
        self.0.iter()
    }

    /// The pairs, ascending by key.
    pub fn as_slice(&self) -> &[(Value, Value)] {
        &self.0
    }

    /// The pairs, ascending by key, owned.
    pub fn into_vec(self) -> Vec<(Value, Value)> {
        self.0
    }

    fn place(&self, key: &Value) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }
}

impl FromIterator<(Value, Value)> for Table {
    /// Collects pairs into a table; keeps the first of pairs with the same key.
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Table {
        let mut pairs: Vec<(Value, Value)> = pairs.into_iter().collect();
        pairs.sort_by(|left, right| left.0.cmp(&right.0));
        pairs.dedup_by(|right, left| duplicates(&left.0, &right.0));
        Table(pairs)
    }
}

impl<'a> IntoIterator for &'a Table {
    type Item = &'a (Value, Value);
    type IntoIter = std::slice::Iter<'a, (Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Table {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
