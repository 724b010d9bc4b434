//! Groups of consumers in metrics: those with the greatest lag by name, the others as one.

use rawline_broker::GroupLag;
use rawline_broker::metrics::{MICROSECONDS, Text, families};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Groups with their own series. The others share one name, so that groups can't flood a monitoring system.
const GROUPS_NAMED_MAX: usize = 100;

/// The name that all other groups share, also one that is called so.
const OTHERS: &str = "(other)";

/// Adds the series of these groups.
pub(crate) fn render(text: &mut Text, groups: BTreeMap<Arc<str>, GroupLag>) {
    text.gauge(&families::GROUPS, groups.len());
    let shown = shown(groups);
    text.gauges(&families::GROUP_MEMBERS, shown.iter().map(|(name, lag)| ([&**name], lag.members)));
    text.gauges(&families::GROUP_LAG, shown.iter().map(|(name, lag)| ([&**name], lag.records)));
    let oldest = shown.iter().filter_map(|(name, lag)| Some(([&**name], lag.oldest_us? as f64 / MICROSECONDS)));
    text.gauges(&families::GROUP_OLDEST, oldest);
}

/// The groups with the most uncommitted records, then those with the most members, and the sum of the others.
fn shown(groups: BTreeMap<Arc<str>, GroupLag>) -> Vec<(Arc<str>, GroupLag)> {
    let mut shown: Vec<(Arc<str>, GroupLag)> = groups.into_iter().collect();
    shown.sort_by_key(|(name, lag)| (&**name == OTHERS, Reverse((lag.records, lag.members))));
    let named = shown.iter().take_while(|(name, _)| &**name != OTHERS).count().min(GROUPS_NAMED_MAX);
    let others = shown.split_off(named);
    if !others.is_empty() {
        let mut sum = GroupLag::default();
        others.iter().for_each(|(_, lag)| sum.add(lag));
        shown.push((OTHERS.into(), sum));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag(records: u64, members: u64, oldest_us: Option<u64>) -> GroupLag {
        GroupLag { members, records, oldest_us }
    }

    #[test]
    fn groups_with_a_lag_are_named_and_the_others_are_one() {
        let mut groups: BTreeMap<Arc<str>, GroupLag> =
            (0..1000).map(|number| (format!("g{number:04}").into(), lag(0, 1, None))).collect();
        groups.insert("g0777".into(), lag(5, 0, Some(7)));
        groups.insert("g0999".into(), lag(9, 2, Some(8)));
        groups.insert(OTHERS.into(), lag(99, 3, Some(3)));
        let shown = shown(groups);
        assert_eq!(shown.len(), GROUPS_NAMED_MAX + 1);
        let names: Vec<&str> = shown.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names[..4], ["g0999", "g0777", "g0000", "g0001"]);
        assert_eq!(shown[GROUPS_NAMED_MAX], (OTHERS.into(), lag(99, 3 + 900, Some(3))));
    }

    #[test]
    fn names_are_escaped() {
        let mut text = Text::default();
        render(&mut text, BTreeMap::from([("a\"b".into(), lag(1, 0, Some(2_500_000)))]));
        let text = text.into_string();
        assert!(text.contains("rawline_group_lag_records{group=\"a\\\"b\"} 1\n"), "{text}");
        assert!(text.contains("rawline_group_oldest_timestamp_seconds{group=\"a\\\"b\"} 2.5\n"), "{text}");
    }
}
