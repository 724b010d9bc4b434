//! Keeps this broker's card in the storage, reads those of the others, and follows what they store.

use crate::cluster::members::Members;
use crate::cluster::{BrokerId, Brokers, Card, Fingerprint, MemberStore};
use crate::journal::Journal;
use crate::limits::{
    CARD_FORGOTTEN_AFTER, FOLLOW_INTERVAL, HANDOVER_WAIT, HEARTBEAT_INTERVAL, HEARTBEATS_PER_LISTING, LEASE,
    OWNER_WAIT_MAX,
};
use crate::store::StoreError;
use crate::tasks;
use futures_util::future::join_all;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};

/// This broker's place among the brokers on its storage.
pub struct Cluster {
    store: Arc<dyn MemberStore>,
    journal: Journal,
    members: Mutex<Members>,
    brokers: watch::Sender<Arc<Brokers>>,
    /// Whether this broker owns the journal, and has seen everything that was stored before it did.
    is_acting: watch::Sender<bool>,
    /// Another broker has stored something.
    news: Notify,
    /// What the others send in place of a client's key.
    peer_key: String,
    /// When the members' time began.
    epoch: Instant,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Cluster {
    /// Finds the other brokers, and makes this one known to them.
    pub(crate) async fn join(
        store: Arc<dyn MemberStore>,
        journal: Journal,
        card: Card,
    ) -> Result<Arc<Cluster>, StoreError> {
        let peer_key = card.peer_key.clone();
        let members = Members::new(card, LEASE);
        let brokers = members.brokers(Duration::ZERO);
        let cluster = Arc::new(Cluster {
            store,
            journal,
            members: Mutex::new(members),
            brokers: watch::Sender::new(Arc::new(brokers)),
            is_acting: watch::Sender::new(false),
            news: Notify::new(),
            peer_key,
            epoch: Instant::now(),
            running: Mutex::default(),
        });
        cluster.look_for_others().await?;
        cluster.store_card().await?;
        // What was stored while this broker read the cards.
        cluster.catch_up().await?;
        let running = [
            tasks::spawn(cluster.clone().beat()),
            tasks::spawn(cluster.clone().look()),
            tasks::spawn(cluster.clone().follow()),
            tasks::spawn(cluster.clone().take_over()),
        ];
        cluster.running.lock().unwrap_or_else(PoisonError::into_inner).extend(running);
        Ok(cluster)
    }

    /// All brokers as this one sees them now.
    pub fn brokers(&self) -> Arc<Brokers> {
        self.brokers.borrow().clone()
    }

    /// As [`Cluster::brokers`], with every change.
    pub fn watch(&self) -> watch::Receiver<Arc<Brokers>> {
        self.brokers.subscribe()
    }

    /// This broker's card, as of now.
    pub fn me(&self) -> Card {
        Card { next_object: *self.journal.end().borrow(), ..self.members().me().clone() }
    }

    /// What other brokers send this one in place of a client's key.
    pub fn peer_key(&self) -> &str {
        &self.peer_key
    }

    /// The number of the object that this broker would read next, with every change.
    pub fn end(&self) -> watch::Receiver<u64> {
        self.journal.end()
    }

    /// The owner's card if another broker owns the journal.
    pub fn other_owner(&self) -> Option<Card> {
        self.brokers.borrow().other_owner().cloned()
    }

    /// Whether another broker owns the journal.
    pub fn is_owned_by_other(&self) -> bool {
        self.brokers.borrow().other_owner().is_some()
    }

    /// Waits until this broker, which owns the journal, has seen what was stored before it did. False if it doesn't own
    /// it, or can't see that.
    pub async fn acts(&self) -> bool {
        if *self.is_acting.borrow() {
            return true;
        }
        if self.is_owned_by_other() {
            return false;
        }
        let mut is_acting = self.is_acting.subscribe();
        let acting = timeout(OWNER_WAIT_MAX, is_acting.wait_for(|is_acting| *is_acting));
        matches!(acting.await, Ok(Ok(_)))
    }

    /// A broker has responded with its card.
    pub fn responded(&self, card: Card) {
        let (id, next_object) = (card.id, card.next_object);
        self.change(|members, now| members.responded(card, now));
        self.follow_to(id, next_object);
    }

    /// A broker has sent its card. Whether this broker reaches it isn't known by that.
    pub fn asked(&self, card: Card) {
        let (id, next_object) = (card.id, card.next_object);
        self.change(|members, now| members.heard(card, Duration::ZERO, now));
        self.follow_to(id, next_object);
    }

    fn follow_to(&self, id: BrokerId, next_object: u64) {
        if next_object > *self.journal.end().borrow() {
            tracing::trace!(broker = %id, next_object, "another broker has stored something");
            self.news.notify_one();
        }
    }

    /// A broker doesn't respond.
    pub fn unreachable(&self, id: BrokerId) {
        self.change(|members, now| members.unreachable(id, now));
    }

    /// Another broker takes over before this one stops. When this returns, the card in the storage says so.
    async fn leave(&self) {
        self.change(|members, _| members.change_me(|card| card.is_leaving = true));
        if let Err(error) = self.store_card().await {
            tracing::warn!(%error, "the others will notice that this broker leaves when it stops to respond");
        }
    }

    /// This broker presents these certificates, or soon will. When this returns, its card in the storage says so.
    pub async fn present(&self, certificates: Vec<Fingerprint>) {
        self.change(|members, _| members.change_me(|card| card.certificates = certificates));
        if let Err(error) = self.store_card().await {
            tracing::warn!(%error, "the others will know this broker's new certificate when its card can be stored");
        }
    }

    /// Leaves, if there are other brokers, and waits until one of them has taken over. What arrives meanwhile is
    /// forwarded.
    pub async fn hand_over(&self) {
        if self.brokers().live().count() > 1 {
            let leaving = async {
                self.leave().await;
                sleep(HANDOVER_WAIT).await;
            };
            let _ = timeout(2 * HANDOVER_WAIT, leaving).await;
        }
    }

    /// Waits until this broker has seen what the others have stored.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        self.journal.catch_up().await.map_err(|error| crate::end::in_store(&error))
    }

    /// Ends the work for others, and deletes this broker's card.
    pub(crate) async fn stop(&self) {
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        running.iter().for_each(JoinHandle::abort);
        // They hold the journal until they have ended.
        join_all(running).await;
        let id = self.members().me().id;
        if let Err(error) = self.store.delete(id).await {
            tracing::debug!(%error, "this broker's card stays until another broker deletes it");
        }
    }

    /// Stores this broker's card again and again. Nothing else is waited for here: a slow response must not make this
    /// broker silent.
    async fn beat(self: Arc<Self>) {
        let mut beats = heartbeats();
        loop {
            beats.tick().await;
            if let Err(error) = self.store_card().await {
                tracing::warn!(%error, "this broker's card was not stored; the others may take it for gone");
            }
        }
    }

    /// Reads the cards of the others again and again, and looks for new ones.
    async fn look(self: Arc<Self>) {
        let mut beats = heartbeats();
        for beat in 1_u32.. {
            beats.tick().await;
            self.read_cards().await;
            if beat % HEARTBEATS_PER_LISTING == 0
                && let Err(error) = self.look_for_others().await
            {
                tracing::warn!(%error, "can't list the brokers on this storage");
            }
        }
    }

    async fn store_card(&self) -> Result<(), StoreError> {
        let card = self.me();
        self.store.put(card.id, card.encode().into()).await
    }

    /// Reads the cards of the brokers that are known.
    async fn read_cards(&self) {
        let others: Vec<BrokerId> = self.members().others().collect();
        join_all(others.into_iter().map(|id| self.read_card(id))).await;
    }

    async fn read_card(&self, id: BrokerId) {
        match self.store.get(id).await {
            Ok(None) => self.change(|members, _| members.gone(id)),
            Ok(Some((bytes, age))) => match Card::decode(&bytes) {
                Ok(card) if self.members().is_former(&card) => {
                    // It was killed, and nobody else deletes its card.
                    if age > CARD_FORGOTTEN_AFTER {
                        let _ = self.store.delete(id).await;
                    }
                }
                Ok(card) if card.id == id => self.change(|members, now| members.heard(card, age, now)),
                Ok(card) => tracing::warn!(broker = %id, found = %card.id, "the card of a broker is another's"),
                Err(error) => tracing::warn!(broker = %id, %error, "the card of a broker can't be read"),
            },
            // What is known of it grows old.
            Err(error) => {
                tracing::debug!(broker = %id, %error, "can't read the card of a broker");
                self.change(|_, _| {});
            }
        }
    }

    /// Lists the cards, reads those of brokers that aren't known yet, and deletes those of brokers that are long gone.
    pub async fn look_for_others(&self) -> Result<(), StoreError> {
        let listed = self.store.list().await?;
        let is_new = |id: &BrokerId| {
            let members = self.members();
            *id != members.me().id && members.others().all(|known| known != *id)
        };
        let new: Vec<BrokerId> = listed.into_iter().filter(is_new).collect();
        join_all(new.into_iter().map(|id| self.read_card(id))).await;
        let forgotten = self.members().forgotten(self.epoch.elapsed(), CARD_FORGOTTEN_AFTER);
        for id in forgotten {
            match self.store.delete(id).await {
                Ok(()) => self.change(|members, _| members.gone(id)),
                Err(error) => tracing::debug!(broker = %id, %error, "can't delete the card of a broker that is gone"),
            }
        }
        Ok(())
    }

    /// Reads what others have stored: at once when one of them says so, and from time to time in any case.
    async fn follow(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.news.notified() => {}
                () = sleep(FOLLOW_INTERVAL) => {}
            }
            if let Err(error) = self.journal.catch_up().await {
                tracing::warn!(%error, "can't read what other brokers have stored");
                sleep(HEARTBEAT_INTERVAL).await;
            }
        }
    }

    /// Acts as the owner from when this broker has seen what the one before it has stored.
    async fn take_over(self: Arc<Self>) {
        let mut brokers = self.brokers.subscribe();
        loop {
            let is_owner = !self.is_owned_by_other();
            if is_owner && !*self.is_acting.borrow() {
                match self.journal.catch_up().await {
                    Ok(()) if !self.is_owned_by_other() => {
                        tracing::info!("this broker owns the journal: it appends for all");
                        self.journal.tidies().store(true, Ordering::Relaxed);
                        self.is_acting.send_replace(true);
                    }
                    Ok(()) => {}
                    Err(error) => {
                        tracing::warn!(%error, "can't take over the journal; retrying");
                        sleep(Duration::from_secs(1)).await;
                        continue;
                    }
                }
            }
            if !is_owner {
                self.journal.tidies().store(false, Ordering::Relaxed);
                if self.is_acting.send_replace(false) {
                    let owner = self.other_owner().map(|card| card.id.to_string());
                    tracing::info!(owner, "another broker owns the journal");
                }
            }
            if brokers.changed().await.is_err() {
                return;
            }
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of the members. Time alone changes it too.
    fn change(&self, change: impl FnOnce(&mut Members, Duration)) {
        let now = self.epoch.elapsed();
        let mut members = self.members();
        change(&mut members, now);
        let brokers = members.brokers(now);
        // Under the members' lock, so that an older view doesn't replace a newer one. Who looks at the view holds its
        // lock, and must not ask for the members.
        self.brokers.send_if_modified(|before| {
            let is_new = !before.differs_in_time_only(&brokers);
            *before = Arc::new(brokers);
            is_new
        });
    }
}

/// Ticks a heartbeat from now on, and after a late one again with the whole interval.
fn heartbeats() -> Interval {
    let mut beats = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}
