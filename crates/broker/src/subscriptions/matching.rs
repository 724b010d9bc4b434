//! Which subscriptions a topic's name matches: by the whole name, or by a prefix.

use fast_radix_trie::GenericRadixMap;
use std::collections::HashMap;

/// Numbers of subscriptions by what they match.
#[derive(Default)]
pub struct Matching {
    /// By a prefix that isn't empty, byte by byte.
    prefixes: GenericRadixMap<Vec<u8>, Vec<usize>>,
    names: HashMap<String, Vec<usize>>,
    /// Those that match every topic.
    all: Vec<usize>,
}

impl Matching {
    /// Adds a subscription to the topic of this name.
    pub fn add_name(&mut self, name: &str, subscription: usize) {
        self.names.entry(name.to_owned()).or_default().push(subscription);
    }

    /// Adds a subscription to all topics whose names begin with this.
    pub fn add_prefix(&mut self, prefix: &str, subscription: usize) {
        match self.prefixes.get_mut(prefix.as_bytes()) {
            _ if prefix.is_empty() => self.all.push(subscription),
            Some(subscriptions) => subscriptions.push(subscription),
            None => drop(self.prefixes.insert(prefix.as_bytes(), vec![subscription])),
        }
    }

    /// Undoes [`Matching::add_name`].
    pub fn remove_name(&mut self, name: &str, subscription: usize) {
        let Some(subscriptions) = self.names.get_mut(name) else { unreachable!("nobody has subscribed to {name:?}") };
        remove(subscriptions, subscription);
        if subscriptions.is_empty() {
            self.names.remove(name);
        }
    }

    /// Undoes [`Matching::add_prefix`].
    pub fn remove_prefix(&mut self, prefix: &str, subscription: usize) {
        if prefix.is_empty() {
            return remove(&mut self.all, subscription);
        }
        let Some(subscriptions) = self.prefixes.get_mut(prefix.as_bytes()) else {
            unreachable!("nobody has subscribed to {prefix:?}")
        };
        remove(subscriptions, subscription);
        if subscriptions.is_empty() {
            self.prefixes.remove(prefix.as_bytes());
        }
    }

    /// Calls `found` with the subscriptions that match a topic's name; with one that matches in several ways several
    /// times.
    pub fn each(&self, name: &str, mut found: impl FnMut(usize)) {
        let by_prefix = self.prefixes.common_prefix_values(name.as_bytes()).flatten();
        let by_name = self.names.get(name).into_iter().flatten();
        by_prefix.chain(by_name).chain(&self.all).for_each(|subscription| found(*subscription));
    }
}

fn remove(subscriptions: &mut Vec<usize>, subscription: usize) {
    let Some(place) = subscriptions.iter().position(|other| *other == subscription) else {
        unreachable!("subscription {subscription} is none of {}", subscriptions.len())
    };
    subscriptions.swap_remove(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subscription_is_found_by_names_and_prefixes_as_by_comparing_each() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut any = |most: usize| {
            let letters = ["a", "b", "ab", ".", "zeek.", "dns", "longer-than-the-others-", "-"];
            (0..random.usize(..most)).map(|_| letters[random.usize(..letters.len())]).collect::<String>()
        };
        let mut there: Vec<(bool, String)> = Vec::new();
        let mut matching = Matching::default();
        for round in 0..2_000 {
            let (is_prefix, text) = (round % 3 > 0, any(5));
            match is_prefix {
                true => matching.add_prefix(&text, round),
                false => matching.add_name(&text, round),
            }
            there.push((is_prefix, text));
            if round >= 1_000 {
                let (is_prefix, text) = &there[round - 1_000];
                match is_prefix {
                    true => matching.remove_prefix(text, round - 1_000),
                    false => matching.remove_name(text, round - 1_000),
                }
            }
            let name = any(7);
            let mut found = Vec::new();
            matching.each(&name, |subscription| found.push(subscription));
            found.sort_unstable();
            let first = (round + 1).saturating_sub(1_000);
            let is_match = |(_, (is_prefix, text)): &(usize, &(bool, String))| match is_prefix {
                true => name.starts_with(text.as_str()),
                false => name == *text,
            };
            let expected = there.iter().enumerate().skip(first).filter(is_match).map(|(number, _)| number);
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name:?} in round {round}");
        }
    }
}
