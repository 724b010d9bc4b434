//! Groups of consumers as Python sees them.

use crate::arguments::{seconds, whole};
use pyo3::prelude::*;
use rawline_client::{CommitOffset, GroupConfig, GroupInfo, GroupOffset, GroupPartition, GroupSummary, MemberInfo};

/// Name, state, number of members.
type Summary = (String, &'static str, u64);

/// Topic, partition.
type Partition = (String, u32);

/// Id, instance, client, address, partitions.
type Member = (String, Option<String>, String, String, Vec<Partition>);

/// Topic, partition, offset, the partition's next offset, lag, metadata.
type Offset = (String, u32, u64, u64, u64, String);

/// Name, state, strategy, members, offsets.
type Group = (String, &'static str, String, Vec<Member>, Vec<Offset>);

pub fn summary_of(group: GroupSummary) -> Summary {
    (group.name, group.state.name(), group.members)
}

pub fn group_of(group: GroupInfo) -> Group {
    let partition = |at: GroupPartition| (at.topic, at.partition);
    let member = |member: MemberInfo| {
        let partitions = member.partitions.into_iter().map(partition).collect();
        (member.member, member.instance, member.client, member.address, partitions)
    };
    let offset = |at: GroupOffset| (at.topic, at.partition, at.offset, at.next_offset, at.lag, at.metadata);
    (
        group.name,
        group.state.name(),
        group.strategy,
        group.members.into_iter().map(member).collect(),
        group.offsets.into_iter().map(offset).collect(),
    )
}

/// The offsets to set in a topic.
pub fn offsets_of(topic: &str, offsets: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<Vec<CommitOffset>> {
    let offset = |(partition, offset): &(Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok(CommitOffset::new(topic, whole("partition", partition)?, whole("offset", offset)?))
    };
    offsets.iter().map(offset).collect()
}

/// Group, instance, seconds between commits, of a session, and between two polls.
pub type Membership = (String, Option<String>, Option<f64>, f64, f64);

/// The settings of a member that they are about, and the group's name.
pub fn member_of((group, instance, commit, session, poll): Membership) -> PyResult<(String, GroupConfig)> {
    let config = GroupConfig {
        instance,
        commit_interval: commit.map(|interval| seconds("commit_interval", interval)).transpose()?,
        session: seconds("session", session)?,
        poll_interval_max: seconds("poll_interval_max", poll)?,
        client: "rawline-python".to_owned(),
        ..GroupConfig::default()
    };
    Ok((group, config))
}
