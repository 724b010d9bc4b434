//! An ordered map whose clones share their entries: a clone costs the same however many there are, and the first change
//! of an entry after it copies only the nodes on the way there.
//!
//! It is a B+ tree of nodes that are counted: a node with one owner is changed in place. A node that loses entries
//! isn't filled up again, only removed when it is empty.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::slice;
use std::sync::Arc;

/// Maximum number of entries or children of a node. 128 partitions have 5 KiB, which are copied in about a microsecond,
/// and a million of them need three levels.
const NODE_MAX: usize = 128;

/// See the file's first lines.
#[derive(Clone)]
pub struct SharedMap<K, V> {
    /// None without an entry: most partitions have neither producers nor transactions.
    root: Option<Node<K, V>>,
    len: usize,
}

enum Node<K, V> {
    Leaf(Arc<Vec<(K, V)>>),
    /// Children in order, each with a key: its entries aren't less than that, and all entries before it are. The first
    /// child's key isn't used, since all keys that are less than the second child's are in the first.
    Inner(Arc<Vec<(K, Node<K, V>)>>),
}

impl<K, V> Clone for Node<K, V> {
    fn clone(&self) -> Self {
        match self {
            Node::Leaf(entries) => Node::Leaf(entries.clone()),
            Node::Inner(children) => Node::Inner(children.clone()),
        }
    }
}

/// The child that has the key if any has.
fn child_of<K: Borrow<Q>, V, Q: Ord + ?Sized>(children: &[(K, Node<K, V>)], key: &Q) -> usize {
    children.partition_point(|(from, _)| from.borrow() <= key).saturating_sub(1)
}

/// The same of a key that is put. Keys often ascend, so the last child is looked at first.
fn child_for<K: Ord, V>(children: &[(K, Node<K, V>)], key: &K) -> usize {
    match children.last() {
        Some((from, _)) if from <= key => children.len() - 1,
        _ => child_of(children, key),
    }
}

fn find<K: Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    entries.binary_search_by(|(found, _)| found.borrow().cmp(key))
}

/// The same of a key that is put.
fn find_for<K: Ord, V>(entries: &[(K, V)], key: &K) -> Result<usize, usize> {
    match entries.last() {
        Some((last, _)) if last < key => Err(entries.len()),
        _ => find(entries, key),
    }
}

impl<K: Ord + Clone, V: Clone> Node<K, V> {
    /// The value at a key, to be changed. Only nodes on the way to it become this map's own.
    fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let mut node = self;
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = find(entries, key).ok()?;
                    return Arc::make_mut(entries).get_mut(at).map(|(_, value)| value);
                }
                Node::Inner(children) => {
                    let at = child_of(children, key);
                    node = &mut Arc::make_mut(children).get_mut(at)?.1;
                }
            }
        }
    }

    /// Puts an entry. Returns the value before, or the node's new right part if it had no room.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<(K, Self)>) {
        match self {
            Node::Leaf(entries) => match find_for(entries, &key) {
                Ok(at) => {
                    let before = Arc::make_mut(entries).get_mut(at);
                    (before.map(|(_, before)| std::mem::replace(before, value)), None)
                }
                Err(at) => {
                    let right = insert_at(Arc::make_mut(entries), at, (key, value));
                    (None, right.map(|(from, right)| (from, Node::Leaf(Arc::new(right)))))
                }
            },
            Node::Inner(children) => {
                let at = child_for(children, &key);
                let children = Arc::make_mut(children);
                let Some((_, child)) = children.get_mut(at) else { unreachable!("an inner node without a child") };
                let (before, right) = child.insert(key, value);
                let Some(right) = right else { return (before, None) };
                let right = insert_at(children, at + 1, right);
                (before, right.map(|(from, right)| (from, Node::Inner(Arc::new(right)))))
            }
        }
    }

    /// Removes an entry, and the nodes that are empty then, except for this one.
    fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        match self {
            Node::Leaf(entries) => {
                let at = find(entries, key).ok()?;
                Some(Arc::make_mut(entries).remove(at))
            }
            Node::Inner(children) => {
                let at = child_of(children, key);
                let children = Arc::make_mut(children);
                let (_, child) = children.get_mut(at)?;
                let removed = child.remove(key)?;
                if child.is_empty() {
                    children.remove(at);
                }
                Some(removed)
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Node::Leaf(entries) => entries.is_empty(),
            Node::Inner(children) => children.is_empty(),
        }
    }
}

/// Puts an entry into a node. One that is full is divided first: into halves, or before the new entry if that is the
/// last, since keys often ascend. Returns the right part.
fn insert_at<K: Clone, T>(entries: &mut Vec<(K, T)>, at: usize, entry: (K, T)) -> Option<(K, Vec<(K, T)>)> {
    if entries.len() < NODE_MAX {
        entries.insert(at, entry);
        return None;
    }
    let middle = if at == entries.len() { at } else { entries.len() / 2 };
    let mut right = entries.split_off(middle);
    match at.checked_sub(middle) {
        Some(at) => right.insert(at, entry),
        None => entries.insert(at, entry),
    }
    let (from, _) = right.first()?;
    Some((from.clone(), right))
}

impl<K, V> SharedMap<K, V> {
    /// Without an entry.
    pub const fn new() -> Self {
        SharedMap { root: None, len: 0 }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { inner: Vec::new(), leaf: [].iter() };
        self.root.iter().for_each(|root| iter.descend(root));
        iter
    }

    /// All keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// All values in order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// The value at a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut node = self.root.as_ref()?;
        loop {
            match node {
                Node::Leaf(entries) => return entries.get(find(entries, key).ok()?).map(|(_, value)| value),
                Node::Inner(children) => node = &children.get(child_of(children, key))?.1,
            }
        }
    }

    /// Whether there is an entry with this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value at a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.root.as_mut()?.get_mut(key)
    }

    /// The value at a key, to be changed; a new one if the key has none.
    pub fn or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        if !self.contains_key(&key) {
            self.insert(key.clone(), new());
        }
        let Some(value) = self.root.as_mut().and_then(|root| root.get_mut(&key)) else {
            unreachable!("an entry that was just put")
        };
        value
    }

    /// Puts an entry. Returns the value that the key had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let root = self.root.get_or_insert_with(|| Node::Leaf(Arc::default()));
        let (before, right) = root.insert(key, value);
        if let Some((from, right)) = right {
            let left = root.clone();
            *root = Node::Inner(Arc::new(vec![(from.clone(), left), (from, right)]));
        }
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes an entry. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes an entry. Returns it.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let removed = self.root.as_mut()?.remove(key)?;
        self.len -= 1;
        while let Some(Node::Inner(children)) = &self.root
            && children.len() <= 1
        {
            self.root = children.first().map(|(_, only)| only.clone());
        }
        self.root = self.root.take().filter(|root| !root.is_empty());
        Some(removed)
    }

    /// The entries from a key on, in order.
    pub fn range_from<Q: Ord + ?Sized>(&self, key: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut iter = Iter { inner: Vec::new(), leaf: [].iter() };
        let Some(mut node) = self.root.as_ref() else { return iter };
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.partition_point(|(found, _)| found.borrow() < key);
                    iter.leaf = entries.split_at(at).1.iter();
                    return iter;
                }
                Node::Inner(children) => {
                    let mut children = children.split_at(child_of(children, key)).1.iter();
                    let Some((_, child)) = children.next() else { return iter };
                    iter.inner.push(children);
                    node = child;
                }
            }
        }
    }

    /// The entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        let mut node = self.root.as_ref()?;
        loop {
            match node {
                Node::Leaf(entries) => return entries.last().map(|(key, value)| (key, value)),
                Node::Inner(children) => node = &children.last()?.1,
            }
        }
    }
}

/// Entries in order.
pub struct Iter<'a, K, V> {
    /// The children that follow, of each node on the way to the leaf.
    inner: Vec<slice::Iter<'a, (K, Node<K, V>)>>,
    leaf: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    /// Continues with the first entry of a node.
    fn descend(&mut self, mut node: &'a Node<K, V>) {
        loop {
            match node {
                Node::Leaf(entries) => {
                    self.leaf = entries.iter();
                    return;
                }
                Node::Inner(children) => {
                    let mut children = children.iter();
                    let Some((_, child)) = children.next() else { return };
                    self.inner.push(children);
                    node = child;
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            match self.inner.last_mut()?.next() {
                Some((_, child)) => self.descend(child),
                None => drop(self.inner.pop()),
            }
        }
    }
}

impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<'a, K, V> IntoIterator for &'a SharedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for SharedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SharedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord + Clone, V: Clone, const N: usize> From<[(K, V); N]> for SharedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap::new()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

impl<K: Hash, V: Hash> Hash for SharedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
