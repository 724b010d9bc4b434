//! Divides the partitions of topics among the members of a group by the strategy `range`, in the form that Kafka's
//! consumers read.

use rawline_broker::{Wanting, divide_by_range};
use rawline_kafka::messages::{ConsumerAssignment, ConsumerPartitions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The shares of all members. `partitions` has the number of partitions of each topic that exists.
pub fn divide(
    members: &[Wanting<String>],
    partitions: &BTreeMap<String, u32>,
) -> impl Iterator<Item = (Arc<str>, ConsumerAssignment)> + use<> {
    divide_by_range(members, partitions).into_iter().map(|(member, share)| {
        let of = |(topic, range): (String, std::ops::Range<u32>)| ConsumerPartitions {
            topic,
            partitions: range.map(|number| number as i32).collect(),
        };
        let assigned_partitions = share.into_iter().map(of).collect();
        (member, ConsumerAssignment { assigned_partitions, user_data: None })
    })
}
