//! A member's part in its group: a task that joins, sends heartbeats while the caller processes records, and joins
//! again when the partitions are divided anew.
//!
//! ```text
//!          ┌──────────────────────────────────────────────┐
//!          ▼                                              │ released
//!        join ──► Assigned ──► heartbeats ──► Revoked, Lost or Failed
//! ```
//!
//! The consumer reads between `Assigned` and the next event. After that event the task waits until the consumer has
//! stopped reading and has committed: no partition is read by two members. Heartbeats continue meanwhile.

use super::config::GroupConfig;
use crate::client::Client;
use crate::error::ClientError;
use crate::limits::SESSION_HEARTBEATS;
use crate::retry::RetryPolicy;
use rawline_contract::code::{GROUP_REBALANCING, MEMBER_FENCED, MEMBER_NOT_FOUND};
use rawline_contract::{JoinRequest, Membership};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

/// Events of a consumer's membership.
#[derive(Debug)]
pub(super) enum Event {
    /// It reads these partitions.
    Assigned(Membership),
    /// The partitions are divided anew: it stops reading, commits, and joins again.
    Revoked,
    /// The consumer isn't a member any more; other members read its partitions.
    Lost,
    /// It can't be a member.
    Failed(ClientError),
}

/// Time of the caller's last request for records.
#[derive(Debug)]
pub(super) struct Polls {
    /// Since when the caller has been processing records; none while it waits for them.
    away_since: Mutex<Option<Instant>>,
}

impl Polls {
    /// The caller hasn't requested records yet.
    pub fn new() -> Polls {
        Polls { away_since: Mutex::new(Some(Instant::now())) }
    }

    /// The caller waits for records until the result is dropped.
    pub fn begin(self: &Arc<Self>) -> Polling {
        self.set(None);
        Polling(self.clone())
    }

    fn set(&self, away_since: Option<Instant>) {
        *self.away_since.lock().unwrap_or_else(PoisonError::into_inner) = away_since;
    }

    fn away(&self) -> Duration {
        let since = *self.away_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A call that waits for records.
pub(super) struct Polling(Arc<Polls>);

impl Drop for Polling {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
    }
}

/// How a membership ended.
enum End {
    /// The member joins again.
    Rebalancing,
    /// The consumer isn't a member any more.
    Gone,
    /// Another process has its place.
    Fenced(ClientError),
}

pub(super) struct Member {
    pub client: Client,
    pub group: Arc<str>,
    pub topics: Vec<String>,
    pub config: GroupConfig,
    pub polls: Arc<Polls>,
    pub events: UnboundedSender<Event>,
    /// The consumer has stopped reading, as an event requested.
    pub releases: UnboundedReceiver<()>,
}

impl Member {
    /// Is a member until the consumer is gone, or another process has the member's place.
    pub async fn run(mut self) {
        let mut member = None;
        loop {
            match self.join(member.clone()).await {
                Ok(membership) => {
                    member = Some(membership.member.clone());
                    self.tell(Event::Assigned(membership.clone()));
                    match self.stay(&membership).await {
                        End::Rebalancing => {}
                        End::Gone => member = None,
                        End::Fenced(error) => return self.tell(Event::Failed(error)),
                    }
                }
                Err(error) if member.is_some() && error.code() == Some(MEMBER_NOT_FOUND.name) => member = None,
                Err(error) => {
                    let is_fenced = error.code() == Some(MEMBER_FENCED.name);
                    self.tell(Event::Failed(error));
                    if is_fenced || !self.is_released().await {
                        return;
                    }
                }
            }
        }
    }

    fn tell(&self, event: Event) {
        // A consumer that is dropped needs it no longer.
        let _ = self.events.send(event);
    }

    /// Waits until the consumer has stopped reading; false if it is gone.
    async fn is_released(&mut self) -> bool {
        self.releases.recv().await.is_some()
    }

    async fn join(&self, member: Option<String>) -> Result<Membership, ClientError> {
        let GroupConfig { session, rebalance, instance, client, .. } = &self.config;
        let request = JoinRequest {
            topics: self.topics.clone(),
            member,
            instance: instance.clone(),
            client: client.clone(),
            session_ms: session.as_millis() as u64,
            rebalance_ms: rebalance.as_millis() as u64,
        };
        self.client.join_group(&self.group, &request, rebalance.saturating_add(*session)).await
    }

    /// Sends heartbeats until the membership ends and the consumer has stopped reading.
    async fn stay(&mut self, membership: &Membership) -> End {
        // When the partitions are divided anew, the member has to learn of it well before the others stop waiting.
        let interval = self.config.session.min(self.config.rebalance) / SESSION_HEARTBEATS;
        let mut heard_at = Instant::now();
        let mut is_revoked = false;
        loop {
            tokio::select! {
                biased;
                _ = self.releases.recv(), if is_revoked => return End::Rebalancing,
                () = tokio::time::sleep(interval) => {}
            }
            let failed = if self.polls.away() > self.config.poll_interval_max {
                self.leave(membership).await;
                None
            } else {
                match self.heartbeat(membership, interval).await {
                    Ok(()) => {
                        heard_at = Instant::now();
                        continue;
                    }
                    Err(error) if error.code() == Some(GROUP_REBALANCING.name) => {
                        heard_at = Instant::now();
                        if !is_revoked {
                            self.tell(Event::Revoked);
                            is_revoked = true;
                        }
                        continue;
                    }
                    Err(error) if error.is_retryable() && heard_at.elapsed() < self.config.session => continue,
                    Err(error) => Some(error),
                }
            };
            return self.end(failed, is_revoked).await;
        }
    }

    /// After the broker has taken the partitions away.
    async fn end(&mut self, failed: Option<ClientError>, is_revoked: bool) -> End {
        match failed {
            Some(error) if error.code() == Some(MEMBER_FENCED.name) => return End::Fenced(error),
            // The consumer already stops reading. The next join reports the error.
            _ if is_revoked => {}
            Some(error) if !error.is_retryable() && error.code() != Some(MEMBER_NOT_FOUND.name) => {
                self.tell(Event::Failed(error));
            }
            _ => self.tell(Event::Lost),
        }
        self.is_released().await;
        End::Gone
    }

    async fn heartbeat(&self, membership: &Membership, limit: Duration) -> Result<(), ClientError> {
        let sent = self.client.heartbeat(&self.group, membership, self.config.instance.as_deref());
        match tokio::time::timeout(limit, sent).await {
            Ok(heard) => heard,
            Err(_) => Err(ClientError::Timeout { broker: self.client.config().broker.clone(), waited: limit }),
        }
    }

    /// Leaves the group if the broker can be reached now. Otherwise it finds out.
    async fn leave(&self, membership: &Membership) {
        let client = self.client.with_retries(RetryPolicy::NONE);
        let _ = client.leave_group(&self.group, &membership.member, self.config.instance.as_deref()).await;
    }
}
