//! `rawline consume --group`: reads as a member of a group.

use super::{Args, Output, Stop, failed};
use crate::commands::CommandError;
use crate::commands::interrupt::Interrupt;
use crate::commands::start::Begin;
use rawline_client::{Client, CommitOffset, Extent, GroupConfig, GroupConsumer, RetryPolicy, Start, TopicInfo};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a member that stops at the end of its partitions looks whether others have got them.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Writes the records that the group hasn't read yet, and commits their offsets once they are written.
pub async fn run(
    args: &Args,
    group: &str,
    client: Client,
    topic: &TopicInfo,
    mut output: Output,
) -> Result<(), CommandError> {
    // Before it joins, so that every member can also leave.
    let mut interrupt = Interrupt::new()?;
    let start = match (args.since, args.offset) {
        (Some(since), _) => Start::Time(since.into()),
        (None, Begin::At(start)) => start,
        (None, Begin::BeforeEnd(_)) => unreachable!("a group's start was checked"),
    };
    let config = GroupConfig {
        start,
        instance: args.instance.clone(),
        client: "rawline-consume".to_owned(),
        bytes_max: args.read_bytes,
        retries: RetryPolicy::lasting(args.retry_for),
        ..GroupConfig::default()
    };
    let mut copying = Copying {
        consumer: GroupConsumer::new(client, group, [&topic.name], config),
        ends: if args.follow { None } else { Some(topic.extents()) },
        written: BTreeMap::new(),
    };
    let copied = copying.copy(&mut output, &mut interrupt).await;
    let finished = if matches!(copied, Err(Stop::Enough)) { Ok(()) } else { output.finish().await };
    let Copying { mut consumer, written, .. } = copying;
    let offset = |(partition, offset)| CommitOffset::new(&topic.name, partition, offset);
    // Records that a closed stdout didn't receive are written again by the next member.
    let committed = consumer.commit_offsets(written.into_iter().map(offset).collect()).await;
    let left = consumer.leave().await;
    failed(copied.and(finished))?;
    Ok(committed.and(left)?)
}

struct Copying {
    consumer: GroupConsumer,
    /// The partitions' extents when the command began, if it stops there.
    ends: Option<Vec<Extent>>,
    /// The offset after the last record written, by partition.
    written: BTreeMap<u32, u64>,
}

impl Copying {
    async fn copy(&mut self, output: &mut Output, interrupt: &mut Interrupt) -> Result<(), Stop> {
        tokio::select! {
            joined = self.consumer.joined() => joined?,
            () = interrupt.wait() => return Ok(()),
        }
        while output.records_left > 0 && !self.has_ended() {
            let fetched = tokio::select! {
                biased;
                // Between two reads: the read records are written and committed.
                () = interrupt.wait() => return Ok(()),
                fetched = self.consumer.next() => fetched?,
                () = tokio::time::sleep(LOOK_EVERY), if self.ends.is_some() => continue,
            };
            let partition = fetched.partition();
            let written = match output.write(fetched).await {
                // Returned records count as processed with the next call.
                Ok(next_offset) => output.drain().await.map(|()| next_offset),
                Err(stop) => Err(stop),
            };
            // The records before a bad one are written when the output is finished, and none after it.
            let next_offset = match &written {
                Ok(next_offset) => Some(*next_offset),
                Err(Stop::Bad(bad)) => Some(bad.offset),
                Err(_) => None,
            };
            self.written.extend(next_offset.map(|next_offset| (partition, next_offset)));
            written?;
        }
        Ok(())
    }

    /// Whether all partitions that this member has are read up to where they ended when the command began.
    fn has_ended(&self) -> bool {
        let Some(ends) = &self.ends else { return false };
        self.consumer.positions().all(|(_, partition, offset)| {
            ends.get(partition as usize).is_none_or(|extent| offset >= extent.next_offset)
        })
    }
}
