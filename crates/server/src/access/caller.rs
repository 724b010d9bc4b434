//! The sender of a request, as the handlers of every protocol and the code that forwards requests see it.

use super::grants::Grants;
use super::hashes::Hashes;
use super::key_file::KeyEntry;
use super::quota::{Direction, Quota};
use rawline_broker::Visible;
use ring::digest;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How a caller is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identity {
    /// By nothing: the broker has no keys.
    Anyone,
    /// By a key that the broker was started with.
    Fixed,
    /// By the name of its key in the keys file.
    Named(Arc<str>),
    /// Not known: it hasn't authenticated, or its key was removed.
    Unknown,
}

/// The sender of a request and its grants.
pub struct Caller {
    identity: Identity,
    /// The hashes of its key, if the key is in the keys file.
    hashes: Option<Hashes>,
    /// See [`Caller::key_digest`].
    key_digest: Option<[u8; digest::SHA256_OUTPUT_LEN]>,
    grants: Grants,
    /// The topics that it sees.
    visible: Arc<Visible>,
    quota: Quota,
    /// When its quotas began.
    began: Instant,
    /// Turns true when its key is removed or changed.
    ended: watch::Sender<bool>,
}

/// A connection of a caller, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Caller>);

/// The caller has its maximum number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this key has its maximum number of connections, {0}; close some, or wait")]
pub(crate) struct ConnectionsTooMany(pub u32);

impl Caller {
    fn new(identity: Identity, grants: Grants) -> Caller {
        let (hashes, key_digest, quota, visible) = (None, None, Quota::default(), grants.visible().into());
        let (began, ended) = (Instant::now(), watch::Sender::new(false));
        Caller { identity, hashes, key_digest, grants, visible, quota, began, ended }
    }

    pub(super) fn anyone() -> Arc<Caller> {
        Arc::new(Caller::new(Identity::Anyone, Grants::all()))
    }

    pub(super) fn fixed(key: &str) -> Arc<Caller> {
        let key_digest = Some(digest_of(b"rawline: a fixed key\0", key));
        Arc::new(Caller { key_digest, ..Caller::new(Identity::Fixed, Grants::all()) })
    }

    pub(super) fn named(entry: &KeyEntry) -> Arc<Caller> {
        let caller = Caller::new(Identity::Named(entry.name.clone()), entry.grants.clone());
        let key_digest = Some(digest_of(b"rawline: a key of the file\0", &entry.hashes.sha_256.to_string()));
        Arc::new(Caller { hashes: Some(entry.hashes.clone()), key_digest, quota: Quota::new(entry.quota), ..caller })
    }

    /// A caller without any grant.
    pub(crate) fn unknown() -> Arc<Caller> {
        Arc::new(Caller::new(Identity::Unknown, Grants::default()))
    }

    /// Whether this is the entry of its key.
    pub(super) fn has_key(&self, entry: &KeyEntry) -> bool {
        self.hashes.as_ref() == Some(&entry.hashes)
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A digest that two brokers share exactly if they know the same key. It must not leave the process: it makes weak
    /// keys guessable.
    pub(crate) fn key_digest(&self) -> Option<&[u8]> {
        self.key_digest.as_ref().map(|digest| &digest[..])
    }

    /// The name of its key, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.identity {
            Identity::Anyone | Identity::Unknown => None,
            Identity::Fixed => Some("api-key"),
            Identity::Named(name) => Some(name),
        }
    }

    /// The owner of its state in the journal: the name of its key, if the key is in the keys file.
    pub(crate) fn owner(&self) -> &str {
        match &self.identity {
            Identity::Named(name) => name,
            Identity::Anyone | Identity::Fixed | Identity::Unknown => "",
        }
    }

    /// Its grants.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The topics that it sees, in lists and descriptions.
    pub(crate) fn visible(&self) -> &Arc<Visible> {
        &self.visible
    }

    /// Its key is removed or changed.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Whether its key was removed or changed.
    pub(crate) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Returns when its key is removed or changed.
    pub(crate) async fn ended(&self) {
        // The sender lives as long as the caller.
        let _ = self.ended.subscribe().wait_for(|&has_ended| has_ended).await;
    }

    /// Counts a connection until the place is dropped.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<Place, ConnectionsTooMany> {
        self.quota.connect().map_err(ConnectionsTooMany)?;
        Ok(Place(self.clone()))
    }

    /// Whether the bytes of its appends count for a quota.
    pub(crate) fn counts_appends(&self) -> bool {
        self.quota.has(Direction::In)
    }

    /// How long until the next append is admitted; zero for now.
    pub(crate) fn append_wait(&self) -> Duration {
        self.wait(Direction::In)
    }

    /// Counts bytes of an append that it has sent.
    pub(crate) fn appended(&self, bytes: u64) {
        self.take(Direction::In, bytes);
    }

    /// How long until the next records are sent to it; zero for now.
    pub(crate) fn read_wait(&self) -> Duration {
        self.wait(Direction::Out)
    }

    /// Counts bytes with records that it gets.
    pub(crate) fn read(&self, bytes: u64) {
        self.take(Direction::Out, bytes);
    }

    fn wait(&self, direction: Direction) -> Duration {
        if self.quota.has(direction) { self.quota.wait(direction, self.began.elapsed()) } else { Duration::ZERO }
    }

    fn take(&self, direction: Direction, bytes: u64) {
        if self.quota.has(direction) {
            self.quota.take(direction, self.began.elapsed(), bytes);
        }
    }
}

/// The SHA-256 of a text, for one purpose.
fn digest_of(purpose: &[u8], text: &str) -> [u8; digest::SHA256_OUTPUT_LEN] {
    let digest = digest::digest(&digest::SHA256, &[purpose, text.as_bytes()].concat());
    match digest.as_ref().try_into() {
        Ok(bytes) => bytes,
        Err(_) => unreachable!("a SHA-256 of {} bytes", digest.as_ref().len()),
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identity.fmt(formatter)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.quota.disconnect();
    }
}
