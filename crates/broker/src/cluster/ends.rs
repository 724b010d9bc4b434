//! What other brokers have acknowledged, before this one says where partitions end.

use crate::broker::Broker;
use crate::cluster::Cluster;
use crate::store_error::StoreError;
use futures_util::future::try_join_all;
use std::collections::BTreeSet;

impl Broker {
    /// Waits until this broker has seen what was acknowledged in these topics before this call, by any broker. Whatever
    /// reports where a partition begins or ends, or what is at an offset, calls it first: an end below an acknowledged
    /// record makes clients go back.
    pub async fn see_ends<'a>(&self, topics: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let Some(cluster) = self.cluster() else { return Ok(()) };
        let journals: BTreeSet<u32> = topics.into_iter().map(|topic| self.journal_of(topic)).collect();
        try_join_all(journals.into_iter().map(|journal| cluster.see_end(journal))).await.map(drop)
    }
}

impl Cluster {
    /// The owner of a journal knows its end, once it has seen what was stored before it was the owner. The others read
    /// the end: one request for all that ask meanwhile.
    async fn see_end(&self, journal: u32) -> Result<(), StoreError> {
        if self.acts(journal).await { Ok(()) } else { self.catch_up_in(journal).await }
    }
}
