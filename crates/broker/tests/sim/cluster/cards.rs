//! Where the brokers of a world keep their cards: in the same store as their journal, at the end of the same network.

use crate::store::{Connection, within};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_broker::cluster::BrokerId;
use rawline_broker::store::MemberStore;
use rawline_broker::store::StoreError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// All cards, each with the store's time at which it was stored.
pub type Cards = Arc<Mutex<BTreeMap<BrokerId, (Bytes, u64)>>>;

/// One broker's way to the cards.
pub struct CardStore {
    pub cards: Cards,
    pub connection: Connection,
}

impl CardStore {
    /// Sends a request that changes something: what was sent arrives, whether or not the sender lives.
    fn send(&self, change: impl FnOnce(&Cards, u64) + Send + 'static) -> BoxFuture<'static, Result<(), StoreError>> {
        let (cards, network) = (self.cards.clone(), self.connection.clone());
        let (respond, responded) = oneshot::channel();
        tokio::spawn(async move {
            let failed = network.fails().await;
            if failed.is_ok() {
                change(&cards, network.store.date());
            }
            network.pass().await;
            let _ = respond.send(failed);
        });
        Box::pin(within(async move { responded.await.unwrap_or_else(|_| Err(StoreError::wait("lost"))) }))
    }
}

impl MemberStore for CardStore {
    fn put(&self, id: BrokerId, card: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.send(move |cards, date| drop(cards.lock().unwrap().insert(id, (card, date))))
    }

    fn get(&self, id: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>> {
        let (cards, network) = (self.cards.clone(), self.connection.clone());
        Box::pin(within(async move {
            network.fails().await?;
            let (date, found) = (network.store.date(), cards.lock().unwrap().get(&id).cloned());
            network.pass().await;
            Ok(found.map(|(card, stored)| (card, Duration::from_secs(date - stored))))
        }))
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>> {
        let (cards, network) = (self.cards.clone(), self.connection.clone());
        Box::pin(within(async move {
            network.fails().await?;
            let found = cards.lock().unwrap().keys().copied().collect();
            network.pass().await;
            Ok(found)
        }))
    }

    fn delete(&self, id: BrokerId) -> BoxFuture<'static, Result<(), StoreError>> {
        self.send(move |cards, _| drop(cards.lock().unwrap().remove(&id)))
    }
}
