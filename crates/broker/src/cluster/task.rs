//! Keeps this broker's card in the storage, reads the cards of the others, and follows the objects that they store.

use crate::cluster::members::Members;
use crate::cluster::strangers::Strangers;
use crate::cluster::takeover::Takeover;
use crate::cluster::{BrokerId, Brokers, Card, Fingerprint, PublicKey};
use crate::journal::{Journal, JournalError};
use crate::journals::Journals;
use crate::limits::{
    CARD_FORGOTTEN_AFTER, FOLLOW_INTERVAL, HANDOVER_WAIT, HEARTBEAT_INTERVAL, HEARTBEATS_PER_LISTING, JOIN_RETRY_AFTER,
    JOIN_RETRY_MAX, LEASE, OWNER_WAIT_MAX, SUSPECT_INTERVAL,
};
use crate::store::members::MemberStore;
use crate::store_error::{Setting, StoreError};
use crate::tasks;
use futures_util::future::{BoxFuture, join_all, select_all, try_join_all};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};

/// This broker's place among the brokers on its storage.
pub struct Cluster {
    store: Arc<dyn MemberStore>,
    journals: Vec<Followed>,
    members: Mutex<Members>,
    brokers: watch::Sender<Arc<Brokers>>,
    /// Looks for the cards of brokers that connect and aren't known.
    strangers: Mutex<Strangers>,
    /// Whether this broker stores nothing but its card.
    is_read_only: bool,
    /// When the members' time began.
    epoch: Instant,
    running: Mutex<Vec<JoinHandle<()>>>,
}

/// A journal, and this broker's part in it.
struct Followed {
    journal: Journal,
    /// Whether this broker owns the journal, and has seen everything that was stored before it did.
    is_acting: watch::Sender<bool>,
    takeover: Mutex<Takeover>,
    /// This broker has seen everything that was stored before this time.
    confirmed: Mutex<Option<Instant>>,
}

impl Followed {
    fn takeover(&self) -> MutexGuard<'_, Takeover> {
        self.takeover.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes who owns the journal, at once: by the time that another task looks, this broker may be the owner again.
    /// A broker that is read-only never acts.
    fn note_owner(&self, other: Option<&Card>, is_read_only: bool) {
        let mut takeover = self.takeover();
        let has_ended = takeover.note(other.is_some() || is_read_only);
        if let Some(other) = other {
            self.journal.tidies().store(false, Ordering::Relaxed);
            self.is_acting.send_replace(false);
            if has_ended {
                tracing::info!(journal = self.journal.number(), owner = %other.id, "another broker owns the journal");
            }
        }
    }

    /// Waits until this broker has read all objects stored so far.
    async fn catch_up(&self) -> Result<(), JournalError> {
        let began = Instant::now();
        self.journal.catch_up().await?;
        self.confirm(began);
        Ok(())
    }

    /// The same, and looks whether anything is missing.
    async fn take_over(&self) -> Result<(), JournalError> {
        let began = Instant::now();
        self.journal.take_over().await?;
        self.confirm(began);
        Ok(())
    }

    fn confirm(&self, began: Instant) {
        let mut confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        *confirmed = confirmed.max(Some(began));
    }

    fn next_object(&self) -> u64 {
        *self.journal.end().borrow()
    }
}

impl Cluster {
    /// Finds the other brokers, and makes this one known to them. Boxed, because the caller is generic.
    pub(crate) fn join(
        store: Arc<dyn MemberStore>,
        journals: Journals,
        card: Card,
    ) -> BoxFuture<'static, Result<Arc<Cluster>, StoreError>> {
        Box::pin(Cluster::meet(store, journals, card))
    }

    async fn meet(store: Arc<dyn MemberStore>, journals: Journals, card: Card) -> Result<Arc<Cluster>, StoreError> {
        let is_read_only = card.is_read_only;
        let followed = |journal: &Journal| Followed {
            journal: journal.clone(),
            is_acting: watch::Sender::new(false),
            takeover: Mutex::default(),
            confirmed: Mutex::default(),
        };
        let journals: Vec<Followed> = journals.all().iter().map(followed).collect();
        let members = Members::new(card, LEASE, journals.len() as u32);
        let brokers = members.brokers(Duration::ZERO);
        let cluster = Arc::new(Cluster {
            store,
            journals,
            members: Mutex::new(members),
            brokers: watch::Sender::new(Arc::new(brokers)),
            strangers: Mutex::default(),
            is_read_only,
            epoch: Instant::now(),
            running: Mutex::default(),
        });
        retrying(|| cluster.look_for_others()).await?;
        cluster.check_addresses().await?;
        let stored =
            if cluster.is_read_only { cluster.store_card().await } else { retrying(|| cluster.store_card()).await };
        if let Err(error) = stored {
            if !cluster.is_read_only {
                return Err(error);
            }
            tracing::warn!(
                %error,
                "this broker's card can't be stored, so the others don't know this read-only broker: it looks into the \
                 bucket for what they store, and sends them requests with the keys of the clients"
            );
        }
        // The objects stored while this broker read the cards.
        retrying(|| cluster.catch_up()).await?;
        let mut running = vec![tasks::spawn(cluster.clone().beat()), tasks::spawn(cluster.clone().look())];
        for journal in 0..cluster.journals.len() as u32 {
            running.push(tasks::spawn(cluster.clone().follow(journal)));
            running.push(tasks::spawn(cluster.clone().take_over(journal)));
        }
        cluster.running.lock().unwrap_or_else(PoisonError::into_inner).extend(running);
        Ok(cluster)
    }

    /// Refuses to join if another broker runs with this one's address, which is known after a few seconds if there is a
    /// recent card of one. A broker that others can't reach joins without an address.
    async fn check_addresses(&self) -> Result<(), StoreError> {
        loop {
            let now = self.epoch.elapsed();
            let (twin, suspect) = {
                let members = self.members();
                (members.twin(now).cloned(), members.suspect(now))
            };
            if let Some(twin) = twin {
                return Err(StoreError::human(taken(&twin)).about(Setting::Advertise));
            }
            let Some(suspect) = suspect else { break };
            tracing::info!(broker = %suspect, "waits until it is clear whether a broker with this address still runs");
            sleep(SUSPECT_INTERVAL).await;
            self.read_card(suspect).await;
        }
        if self.members().is_out_of_reach(self.epoch.elapsed()) {
            tracing::error!(
                "this broker has a loopback address, at which the brokers on other machines can't reach it: it takes \
                 part without an address, and owns no journal. Give each broker its own address that the others \
                 reach (--advertise)"
            );
            self.change(|members, _| members.change_me(|card| (card.url, card.kafka) = (None, None)));
        }
        Ok(())
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
        let mut card = self.members().me().clone();
        card.set_next_objects(self.journals.iter().map(Followed::next_object));
        card
    }

    /// The public key in another broker's card, as this broker has read it from the storage.
    pub fn known_key(&self, id: BrokerId) -> Option<PublicKey> {
        let brokers = self.brokers();
        brokers.card(id).filter(|_| id != brokers.me)?.public_key
    }

    /// The same, with a look into the storage if the broker isn't known yet, as often as looks are admitted.
    pub async fn find_key(&self, id: BrokerId) -> Option<PublicKey> {
        if let Some(known) = self.known_key(id) {
            return Some(known);
        }
        let now = self.epoch.elapsed();
        let is_admitted = self.strangers.lock().unwrap_or_else(PoisonError::into_inner).admit(now);
        if is_admitted {
            self.read_card(id).await;
        }
        self.known_key(id)
    }

    /// Waits until this broker would read an object next whose number is greater than that of its journal here.
    pub async fn passed(&self, after: &[u64]) {
        let passes = |(number, followed): (usize, &Followed)| {
            let (mut end, after) = (followed.journal.end(), after.get(number).copied().unwrap_or_default());
            Box::pin(async move { drop(end.wait_for(|next| *next > after).await) })
        };
        select_all(self.journals.iter().enumerate().map(passes)).await;
    }

    /// The card of a journal's owner, if another broker owns it.
    pub fn other_owner(&self, journal: u32) -> Option<Card> {
        self.brokers.borrow().other_owner(journal).cloned()
    }

    /// Whether another broker owns a journal.
    pub fn is_owned_by_other(&self, journal: u32) -> bool {
        self.brokers.borrow().other_owner(journal).is_some()
    }

    /// Whether this broker stores nothing but its card.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Waits until this broker, which owns a journal, has seen what was stored in it before. False if it doesn't own
    /// it, or can't see that.
    pub async fn acts(&self, journal: u32) -> bool {
        let is_acting = &self.followed(journal).is_acting;
        if *is_acting.borrow() {
            return true;
        }
        if self.is_owned_by_other(journal) || self.is_read_only {
            return false;
        }
        let mut is_acting = is_acting.subscribe();
        let acting = timeout(OWNER_WAIT_MAX, is_acting.wait_for(|is_acting| *is_acting));
        matches!(acting.await, Ok(Ok(_)))
    }

    /// Whether this broker owns a journal now, and has read all earlier objects in it.
    pub(crate) fn is_acting(&self, journal: u32) -> bool {
        *self.followed(journal).is_acting.borrow()
    }

    /// This broker has seen everything that was stored in a journal before this time.
    pub(crate) fn confirmed(&self, journal: u32) -> Option<Instant> {
        *self.followed(journal).confirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followed(&self, journal: u32) -> &Followed {
        let Some(found) = self.journals.get(journal as usize) else {
            unreachable!("journal {journal} of {}", self.journals.len())
        };
        found
    }

    /// A broker has responded with its card.
    pub fn responded(&self, card: Card) {
        let (id, next_objects): (_, Vec<u64>) = (card.id, card.next_objects().collect());
        self.change(|members, now| members.responded(card, now));
        self.follow_to(id, &next_objects);
    }

    /// A broker has sent its card, on a connection that is its own. Whether this broker reaches it isn't known by that.
    pub fn asked(&self, card: Card) {
        let (id, next_objects): (_, Vec<u64>) = (card.id, card.next_objects().collect());
        self.heard(card, Duration::ZERO);
        self.follow_to(id, &next_objects);
    }

    /// A card was read that was stored `age` ago.
    fn heard(&self, card: Card, age: Duration) {
        let mut twin = None;
        self.change(|members, now| {
            if members.heard(card.clone(), age, now) {
                twin = Some(card);
            }
        });
        if let Some(twin) = twin {
            tracing::error!("{}. This broker owns no journal while both run", taken(&twin));
        }
    }

    fn follow_to(&self, id: BrokerId, next_objects: &[u64]) {
        for (followed, next_object) in self.journals.iter().zip(next_objects) {
            if *next_object > followed.next_object() {
                let journal = followed.journal.number();
                tracing::trace!(broker = %id, journal, next_object, "another broker has stored something");
                followed.journal.told(*next_object);
            }
        }
    }

    /// A broker doesn't respond.
    pub fn unreachable(&self, id: BrokerId) {
        self.change(|members, now| members.unreachable(id, now));
    }

    /// Another broker takes over before this one stops. When this returns, the stored card announces it.
    async fn leave(&self) {
        self.change(|members, _| members.change_me(|card| card.is_leaving = true));
        if let Err(error) = self.store_card().await {
            tracing::warn!(
                %error,
                "can't announce to the others that this broker leaves; they notice it within seconds of its stop"
            );
        }
    }

    /// This broker presents these certificates, or soon will. When this returns, its stored card has them.
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

    /// Waits until this broker has read the objects of the others.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        let all = self.journals.iter().map(Followed::catch_up);
        all_of(try_join_all(all).await)
    }

    /// The same in one journal.
    pub async fn catch_up_in(&self, journal: u32) -> Result<(), StoreError> {
        all_of(self.followed(journal).catch_up().await)
    }

    /// Waits until this broker has seen what was acknowledged in a journal. Its owner knows its end, once it has seen
    /// what was stored before it was the owner. The others read the end: one request for all that ask meanwhile.
    pub(crate) async fn see_end(&self, journal: u32) -> Result<(), StoreError> {
        if self.acts(journal).await { Ok(()) } else { self.catch_up_in(journal).await }
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
            match self.store_card().await {
                Err(error) if !self.is_read_only => {
                    tracing::warn!(%error, "this broker's card was not stored; the others may take it for gone");
                }
                // The log has said at the start that it can't be stored, or it is stored again in a moment.
                Err(error) => tracing::debug!(%error, "the card of this read-only broker was not stored"),
                Ok(()) => {}
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
                Ok(card) if card.id == id => {
                    let is_former = self.members().is_former(&card);
                    self.heard(card, age);
                    // It was killed, and no other broker deletes its card.
                    if is_former && age > CARD_FORGOTTEN_AFTER && !self.is_read_only {
                        let _ = self.store.delete(id).await;
                    }
                }
                Ok(card) => {
                    tracing::warn!(
                        broker = %id, found = %card.id,
                        "the card of a broker has the id of another one; delete it from the storage"
                    )
                }
                Err(error) => tracing::warn!(broker = %id, %error, "the card of a broker can't be read"),
            },
            // Its last card gets old.
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
        if self.is_read_only {
            return Ok(());
        }
        let forgotten = self.members().forgotten(self.epoch.elapsed(), CARD_FORGOTTEN_AFTER);
        for id in forgotten {
            match self.store.delete(id).await {
                Ok(()) => self.change(|members, _| members.gone(id)),
                Err(error) => tracing::debug!(broker = %id, %error, "can't delete the card of a broker that is gone"),
            }
        }
        Ok(())
    }

    /// Polls for objects of other brokers, whether these report them or not.
    async fn follow(self: Arc<Self>, journal: u32) {
        let followed = self.followed(journal);
        loop {
            sleep(FOLLOW_INTERVAL).await;
            if let Err(error) = followed.catch_up().await {
                tracing::warn!(journal, %error, "can't read what other brokers have stored");
                sleep(HEARTBEAT_INTERVAL).await;
            }
        }
    }

    /// Acts as the owner of a journal once this broker has read all objects of the previous owner.
    async fn take_over(self: Arc<Self>, journal: u32) {
        let followed = self.followed(journal);
        let mut brokers = self.brokers.subscribe();
        loop {
            // The guard must not live while this waits.
            let look = followed.takeover().look();
            if let Some(look) = look {
                match followed.take_over().await {
                    Ok(()) => {
                        let mut takeover = followed.takeover();
                        if takeover.looked(look) {
                            tracing::info!(journal, "this broker owns the journal: it appends for all");
                            followed.journal.tidies().store(true, Ordering::Relaxed);
                            followed.is_acting.send_replace(true);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(journal, %error, "can't take over the journal; retrying");
                        sleep(Duration::from_secs(1)).await;
                        continue;
                    }
                }
            }
            self.say_what_is_owned();
            if brokers.changed().await.is_err() {
                return;
            }
        }
    }

    /// Journals stay with the broker that owns them, as long as it has no more than its share.
    fn say_what_is_owned(&self) {
        if self.journals.len() == 1 {
            return;
        }
        self.change(|members, _| {
            let acting = (0..).zip(&self.journals).filter(|(_, followed)| *followed.is_acting.borrow());
            let owns: Vec<u32> = acting.map(|(journal, _)| journal).collect();
            if owns != members.me().owns {
                members.change_me(|card| (card.owns, card.owns_changes) = (owns, card.owns_changes + 1));
            }
        });
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the view of the members, which also changes with time.
    fn change(&self, change: impl FnOnce(&mut Members, Duration)) {
        let now = self.epoch.elapsed();
        let mut members = self.members();
        change(&mut members, now);
        let brokers = members.brokers(now);
        for (journal, followed) in (0..).zip(&self.journals) {
            followed.note_owner(brokers.other_owner(journal), self.is_read_only);
        }
        // Under the members' lock, so that an older view doesn't replace a newer one. Who looks at the view holds its
        // lock, and must not ask for the members.
        self.brokers.send_if_modified(|before| {
            let is_new = !before.differs_in_time_only(&brokers);
            *before = Arc::new(brokers);
            is_new
        });
    }
}

/// Repeats a step of a start while it fails for reasons that may pass.
async fn retrying<F: Future<Output = Result<(), StoreError>>>(step: impl Fn() -> F) -> Result<(), StoreError> {
    let began = Instant::now();
    loop {
        match step().await {
            Err(error) if error.kind.is_retryable() && began.elapsed() < JOIN_RETRY_MAX => {
                tracing::warn!(%error, "can't join the other brokers on this storage yet; retrying");
                sleep(JOIN_RETRY_AFTER).await;
            }
            Err(error) if error.kind.is_retryable() => {
                let seconds = began.elapsed().as_secs();
                return Err(StoreError { message: format!("{} (retried for {seconds} s)", error.message), ..error });
            }
            ended => return ended,
        }
    }
}

/// That another broker has this one's address.
fn taken(twin: &Card) -> String {
    let url = twin.url.as_deref().unwrap_or("no URL");
    let kafka = twin.kafka.as_ref().map(|kafka| format!(" and {}:{} for Kafka's clients", kafka.host, kafka.port));
    format!(
        "broker {} runs on this storage with the address of this one ({url}{}): requests for one would reach the \
         other, so give each broker its own address that the others reach (--advertise, --kafka-advertise), not a load \
         balancer's",
        twin.id,
        kafka.unwrap_or_default()
    )
}

fn all_of<T>(caught_up: Result<T, JournalError>) -> Result<(), StoreError> {
    Ok(caught_up.map(drop)?)
}

/// Ticks a heartbeat from now on, and after a late one again with the whole interval.
fn heartbeats() -> Interval {
    let mut beats = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}
