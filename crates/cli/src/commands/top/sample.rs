//! Looks at a broker's topics and groups, and how they have changed since the look before.

use rawline_client::{Client, ClientError, GroupState, TopicInfo};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// Maximum number of topics that are looked at: a list of more takes the broker's time.
pub const TOPICS_MAX: usize = 10_000;

/// Maximum number of groups whose offsets are looked at, each by its own request.
pub const GROUPS_MAX: usize = 100;

/// The broker at one time.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    pub broker: String,
    pub topics: Vec<Topic>,
    /// Whether the broker has more topics than were looked at.
    pub has_more_topics: bool,
    /// Those with the largest lag.
    pub groups: Vec<Group>,
    /// Number of all groups.
    pub groups_count: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Topic {
    pub name: String,
    pub partitions: u32,
    pub records: u64,
    pub bytes: u64,
    /// Records and bytes that were appended per second; none at the first look.
    pub rates: Option<(f64, f64)>,
}

#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub state: GroupState,
    pub members: u64,
    pub lag: u64,
    /// Offsets committed per second; none at the first look.
    pub rate: Option<f64>,
}

/// Looks at a broker repeatedly.
pub struct Sampler {
    client: Client,
    prefix: String,
    before: Option<Before>,
}

/// What the previous look has found, by name.
struct Before {
    at: Instant,
    topics: BTreeMap<String, TopicInfo>,
    /// The sum of each group's committed offsets.
    offsets: BTreeMap<String, u64>,
}

impl Sampler {
    pub fn new(client: Client, prefix: String) -> Sampler {
        Sampler { client, prefix, before: None }
    }

    /// The broker now, with rates since the previous call.
    pub async fn sample(&mut self) -> Result<Sample, ClientError> {
        let at = Instant::now();
        let (topics, has_more_topics) = self.topics().await?;
        let seconds = self.before.as_ref().map(|before| (at - before.at).as_secs_f64().max(1e-3));
        let mut sample = Sample { broker: self.client.config().broker.clone(), has_more_topics, ..Sample::default() };
        sample.topics = topics.values().map(|topic| self.topic(topic, seconds)).collect();
        let offsets = self.groups(&mut sample, seconds).await?;
        self.before = Some(Before { at, topics, offsets });
        Ok(sample)
    }

    /// The topics, and whether there are more.
    async fn topics(&self) -> Result<(BTreeMap<String, TopicInfo>, bool), ClientError> {
        let mut topics = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.client.topics_page(&self.prefix, after.as_deref()).await?;
            for topic in page.topics {
                let topic = self.with_all_partitions(topic).await?;
                topics.insert(topic.name.clone(), topic);
            }
            after = page.next;
            if after.is_none() || topics.len() >= TOPICS_MAX {
                return Ok((topics, after.is_some()));
            }
        }
    }

    /// A list has the offsets of partition 0 only. A topic of several partitions is described again if it has changed.
    async fn with_all_partitions(&self, topic: TopicInfo) -> Result<TopicInfo, ClientError> {
        if topic.partitions.get() == 1 {
            return Ok(topic);
        }
        let same = |before: &&TopicInfo| {
            (before.latest_commit_at, before.bytes, before.objects, before.partitions)
                == (topic.latest_commit_at, topic.bytes, topic.objects, topic.partitions)
        };
        match self.before.as_ref().and_then(|before| before.topics.get(&topic.name)).filter(same) {
            Some(before) => Ok(before.clone()),
            // Deleted meanwhile, or a partition is damaged: the known part is shown.
            None => match self.client.topic(&topic.name).await {
                Err(ClientError::Refused { .. }) => Ok(topic),
                found => found,
            },
        }
    }

    fn topic(&self, topic: &TopicInfo, seconds: Option<f64>) -> Topic {
        let before = self.before.as_ref().and_then(|before| before.topics.get(&topic.name));
        let grown = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(0)) as f64;
        let rates = seconds.map(|seconds| {
            let records = grown(end(topic), before.map(end));
            // Retention makes a topic smaller: what was appended meanwhile isn't known then.
            let bytes = grown(topic.bytes, before.map(|before| before.bytes));
            (records / seconds, bytes / seconds)
        });
        Topic {
            name: topic.name.clone(),
            partitions: topic.partitions.get(),
            records: topic.records(),
            bytes: topic.bytes,
            rates,
        }
    }

    /// Adds the groups. Returns the sum of each one's committed offsets.
    async fn groups(&self, sample: &mut Sample, seconds: Option<f64>) -> Result<BTreeMap<String, u64>, ClientError> {
        let mut groups = self.client.groups_with_totals().await?;
        sample.groups_count = groups.len();
        groups.sort_by_key(|group| std::cmp::Reverse((group.lag, group.members)));
        groups.truncate(GROUPS_MAX);
        let mut offsets = BTreeMap::new();
        for group in groups {
            let group = match self.client.group(&group.name).await {
                Ok(group) => group,
                // Deleted meanwhile.
                Err(ClientError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            let committed: u64 = group.offsets.iter().map(|at| at.offset).sum();
            let before = self.before.as_ref().and_then(|before| before.offsets.get(&group.name).copied());
            let rate = seconds.map(|seconds| committed.saturating_sub(before.unwrap_or(committed)) as f64 / seconds);
            sample.groups.push(Group {
                name: group.name.clone(),
                state: group.state,
                members: group.members.len() as u64,
                lag: group.offsets.iter().map(|at| at.lag).sum(),
                rate,
            });
            offsets.insert(group.name, committed);
        }
        Ok(offsets)
    }
}

/// The sum of the next offsets of a topic's partitions: it grows by the appended records, whatever is deleted.
fn end(topic: &TopicInfo) -> u64 {
    topic.extents().iter().map(|extent| extent.next_offset).sum()
}
