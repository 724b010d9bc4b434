//! A store whose requests fail, wait or panic as a test says.

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use rawline_broker::object::Object;
use rawline_broker::store::{Begun, CommitError, Listed, Mappings, ObjectAt, Store, StoreError};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What happens to a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OnBegin {
    Pass,
    /// The store's future panics.
    Panic(&'static str),
    /// It is confirmed only after this time.
    ConfirmAfter(Duration),
    /// It is confirmed once [`Faulty::released`] is true.
    Hold,
    /// It is stored, but the response says that another writer was first.
    LoseResponse,
    /// It is not stored.
    Fail,
}

type Rule<T> = Box<dyn Fn(&str, u64) -> T + Send + Sync>;

/// A rule that gets the topic only.
type TopicRule<T> = Box<dyn Fn(&str) -> T + Send + Sync>;

/// Passes requests on to another store, except as its rules say. Each gets the topic and the object's first offset.
pub struct Faulty {
    pub store: Arc<dyn Store>,
    /// Whether commits that are held are confirmed.
    pub released: watch::Sender<bool>,
    pub on_begin: Rule<OnBegin>,
    /// Changes the bytes that a read returns, which begin at this position of the object.
    pub on_get: Box<dyn Fn(u64, u64, Bytes) -> Bytes + Send + Sync>,
    /// How long a read of an object takes.
    pub get_delay: Rule<Duration>,
    /// Whether a deletion of the objects before an offset fails.
    pub fails_delete: Rule<bool>,
    /// How long such a deletion takes.
    pub delete_delay: Rule<Duration>,
    /// The error that noting a topic's deletion ends with, if it does.
    pub on_mark_deleted: TopicRule<Option<StoreError>>,
    /// Whether the deletion of what is left of a topic fails.
    pub fails_delete_topic: TopicRule<bool>,
    /// Whether storing a topic's settings fails.
    pub fails_settings: TopicRule<bool>,
}

impl Faulty {
    pub fn new(store: Arc<dyn Store>) -> Faulty {
        Faulty {
            store,
            released: watch::Sender::new(false),
            on_begin: Box::new(|_, _| OnBegin::Pass),
            on_get: Box::new(|_, _, bytes| bytes),
            get_delay: Box::new(|_, _| Duration::ZERO),
            fails_delete: Box::new(|_, _| false),
            delete_delay: Box::new(|_, _| Duration::ZERO),
            on_mark_deleted: Box::new(|_| None),
            fails_delete_topic: Box::new(|_| false),
            fails_settings: Box::new(|_| false),
        }
    }
}

impl Store for Faulty {
    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        let act = (self.on_begin)(topic, object.header.first_offset);
        Box::pin(async move {
            match act {
                OnBegin::Panic(message) => panic!("{message}"),
                OnBegin::Fail => return Err(down().into()),
                OnBegin::Pass | OnBegin::ConfirmAfter(_) | OnBegin::Hold | OnBegin::LoseResponse => {}
            }
            let Begun { location, confirmed } = self.store.begin(topic, object).await?;
            match act {
                OnBegin::LoseResponse => {
                    confirmed.await.map_or_else(|error| Err(error.into()), |()| Err(CommitError::Exists))
                }
                OnBegin::ConfirmAfter(pause) => {
                    let confirmed = Box::pin(async move {
                        tokio::time::sleep(pause).await;
                        confirmed.await
                    });
                    Ok(Begun { location, confirmed })
                }
                OnBegin::Hold => {
                    let mut released = self.released.subscribe();
                    let confirmed = Box::pin(async move {
                        let _ = released.wait_for(|&is_released| is_released).await;
                        confirmed.await
                    });
                    Ok(Begun { location, confirmed })
                }
                _ => Ok(Begun { location, confirmed }),
            }
        })
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.store.topics()
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        self.store.list(topic, from)
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let delay = (self.get_delay)(topic, object.first_offset);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let bytes = self.store.get(topic, object, range.clone()).await?;
            Ok((self.on_get)(object.first_offset, range.start, bytes))
        })
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        self.store.settings(topic)
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        if (self.fails_settings)(topic) {
            return Box::pin(ready(Err(down())));
        }
        self.store.put_settings(topic, settings)
    }

    fn has_partitions(&self) -> bool {
        self.store.has_partitions()
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        self.store.mappings()
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        if (self.fails_delete)(topic, offset) {
            return Box::pin(ready(Err(down())));
        }
        let delay = (self.delete_delay)(topic, offset);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            self.store.delete_before(topic, offset).await
        })
    }

    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        match (self.on_mark_deleted)(topic) {
            Some(error) => Box::pin(ready(Err(error))),
            None => self.store.mark_deleted(topic),
        }
    }

    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        if (self.fails_delete_topic)(topic) {
            return Box::pin(ready(Err(down())));
        }
        self.store.delete_topic(topic)
    }
}

fn down() -> StoreError {
    StoreError::wait("the store is down for a moment; retry")
}
