//! A subscription on a WebSocket. One whose records are small waits for them on the commit thread.

use super::control;
use super::deliver::{self, SILENCE_MAX, Size, Step, Wanted};
use super::{cursor, selected};
use crate::http::api::Api;
use crate::http::cluster::ZonedRead;
use crate::http::error::ApiError;
use crate::http::long_poll;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use crate::http::select;
use crate::http::upgrade::upgrade;
use crate::http::websocket::{CloseCode, FrameKind, WebSocket};
use crate::metrics::Protocol;
use crate::net::commit_thread::{DELIVERY_BYTES_MAX, SmallDeliveries, there};
use crate::net::join::{self, Joined};
use crate::net::peer::Peer;
use bytes::Bytes;
use http::Request;
use rawline_broker::subscriptions::{Event, Records};
use rawline_broker::{BatchKind, ReadAnswer};
use rawline_contract::code;
use rawline_contract::subscription::{ControlMessage, Delivery, DeliveryKind, WEBSOCKET_PROTOCOL};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// How long after something was delivered a client learns the cursor, if nothing more is left then.
const CURSOR_AFTER: Duration = Duration::from_secs(1);

/// Batches as they are stored, as far as one read returns them; at most this many bytes, so that partitions take turns.
const STORED: Size = Size { records_max: 0, bytes_max: 4 << 20, verify: false, has_gaps: true };

/// The limits of one step of a filter.
const FILTERED: Size = Size { records_max: 4096, bytes_max: 1 << 20, verify: true, has_gaps: false };

/// Begins the session.
pub(super) fn connect<B>(api: &Arc<Api>, request: &Request<B>, wanted: Wanted) -> Result<ApiResponse, ApiError> {
    let moves = ZonedRead::of(request.headers(), &Query::of(request)).map(|read| read.moves(api));
    upgrade(api, request, Some(WEBSOCKET_PROTOCOL), |api, peer, socket| async move {
        let _counted = api.metrics.subscriptions.begin();
        let nearer = async {
            match moves {
                Some(moves) => moves.await,
                None => std::future::pending().await,
            }
        };
        let (silent_at, deliveries) = (Instant::now() + SILENCE_MAX, SmallDeliveries::default());
        let nearer = Box::pin(nearer);
        Session { api: api.clone(), peer, socket, wanted, nearer, silent_at, cursor_at: None, deliveries }.run().await;
    })
}

/// Why the broker closes the connection.
struct Ended {
    code: CloseCode,
    reason: String,
    /// The last message, unless the client violated the protocol.
    error: Option<ApiError>,
}

impl Ended {
    fn of(error: ApiError) -> Ended {
        let code = match error.code() {
            code if code == code::SHUTTING_DOWN => CloseCode::Away,
            code if [code::SUBSCRIBER_SLOW, code::KEY_CHANGED, code::BROKER_NEARER].contains(&code) => CloseCode::Again,
            code if code == code::TOPIC_NOT_FOUND => CloseCode::Normal,
            _ => CloseCode::Error,
        };
        Ended { code, reason: error.to_string(), error: Some(error) }
    }
}

/// A subscription and its connection.
struct Session {
    api: Arc<Api>,
    peer: Peer,
    socket: WebSocket,
    wanted: Wanted,
    /// Returns when another broker of the client's zone serves these topics.
    nearer: Pin<Box<dyn Future<Output = ()> + Send>>,
    silent_at: Instant,
    /// When the client learns where it is, if anything has happened since it did.
    cursor_at: Option<Instant>,
    deliveries: SmallDeliveries,
}

/// Why a session isn't served any more where it was.
enum Turn {
    Ends(Ended),
    /// To the commit thread with a place there, or away from it.
    Moves(Option<OwnedSemaphorePermit>),
}

impl Session {
    /// Runs until the connection has ended.
    async fn run(mut self) {
        let cursor = cursor::text(&self.wanted.subscription).map(Into::into);
        if say(&mut self.socket, Some(ControlMessage::Subscribed { cursor })).await.is_none() {
            return;
        }
        loop {
            let mut turn = self.serve(false).await;
            if let (Some(Turn::Moves(place)), Some(thread)) = (&mut turn, self.api.config.commit_thread.clone()) {
                let (place, peer) = (place.take(), self.peer.clone());
                let served = there(&thread, &peer, async move {
                    let turn = self.serve(true).await;
                    drop(place);
                    (self, turn)
                });
                let Some(back) = served.await else { return };
                (self, turn) = back;
            }
            match turn {
                Some(Turn::Ends(ended)) => return self.end(ended).await,
                Some(Turn::Moves(_)) => {}
                None => return,
            }
        }
    }

    async fn end(mut self, Ended { code, reason, error }: Ended) {
        if let Some(error) = error {
            let message = control::message(&control::end(&error));
            // The client may be gone.
            let _ = self.socket.send(FrameKind::Text, vec![message.into()], false).await;
        }
        self.socket.close(code, &reason).await;
    }

    /// Serves it on the commit thread or elsewhere, until it moves or ends; `None` if the connection has ended.
    async fn serve(&mut self, is_there: bool) -> Option<Turn> {
        let Session { api, peer, socket, wanted, nearer, silent_at, cursor_at, deliveries } = self;
        let mut stopping = api.stopping.clone();
        let size = match (&wanted.filter, is_there) {
            (Some(_), _) => FILTERED,
            (None, true) => Size { bytes_max: DELIVERY_BYTES_MAX, ..STORED },
            (None, false) => STORED,
        };
        let ends = |error| Some(Turn::Ends(Ended::of(error)));
        loop {
            match &api.config.commit_thread {
                Some(_) if is_there && !deliveries.are_usual() => return Some(Turn::Moves(None)),
                Some(thread) if !is_there && deliveries.are_usual() && wanted.subscription.is_idle() => {
                    if let Some(place) = thread.reader() {
                        return Some(Turn::Moves(Some(place)));
                    }
                }
                _ => {}
            }
            let event = tokio::select! {
                biased;
                () = long_poll::stopped(&mut stopping) => return ends(deliver::stopping()),
                message = socket.receive() => {
                    message?;
                    let reason = "this WebSocket accepts no messages".to_owned();
                    return Some(Turn::Ends(Ended { code: CloseCode::Policy, reason, error: None }));
                }
                () = nearer.as_mut() => return ends(deliver::nearer()),
                event = wanted.next(api, Protocol::WebSocket) => event,
                () = sleep_until(cursor_at.unwrap_or(*silent_at)), if cursor_at.is_some() => {
                    let is_idle = wanted.subscription.is_idle();
                    *cursor_at = (!is_idle).then(|| Instant::now() + CURSOR_AFTER);
                    if is_idle {
                        let cursor = cursor::text(&wanted.subscription).map(Into::into);
                        say(socket, cursor.map(|cursor| ControlMessage::Cursor { cursor })).await?;
                        *silent_at = Instant::now() + SILENCE_MAX;
                    }
                    continue;
                }
                () = sleep_until(*silent_at) => {
                    socket.ping().await.ok()?;
                    *silent_at = Instant::now() + SILENCE_MAX;
                    // One without records leaves its place on the commit thread to others.
                    deliveries.note(0);
                    continue;
                }
            };
            let event = match event {
                Ok(event) => event,
                Err(error) => return ends(error),
            };
            let mut turn = match (&event, &wanted.filter) {
                (Event::Records(_), Some(_)) => match select::turn(api).await {
                    Ok(turn) => Some(turn),
                    Err(error) => return ends(error),
                },
                _ => None,
            };
            for step in wanted.steps(api, event, size).await {
                // A slow client may have held up the steps before this one.
                if wanted.caller.has_ended() {
                    return ends(deliver::key_changed());
                }
                let sent = match step {
                    Step::Say(control) => say(socket, Some(control)).await.map(Ok),
                    Step::End(error) => return ends(error),
                    Step::Records(records, read) if wanted.filter.is_some() => {
                        filtered(api, peer, socket, wanted, &records, read, turn.take()).await
                    }
                    Step::Records(records, read) => {
                        let bytes = stored(api, peer, socket, wanted, &records, read).await?;
                        deliveries.note(bytes);
                        Some(Ok(()))
                    }
                };
                if let Err(error) = sent? {
                    return ends(error);
                }
                *silent_at = Instant::now() + SILENCE_MAX;
            }
            *cursor_at = cursor_at.or_else(|| Some(Instant::now() + CURSOR_AFTER));
        }
    }
}

async fn say(socket: &mut WebSocket, control: Option<ControlMessage<'_>>) -> Option<()> {
    let Some(control) = control else { return Some(()) };
    socket.send(FrameKind::Text, vec![control::message(&control).into()], false).await.ok()
}

/// Sends batches as they are stored. Returns their size in bytes.
async fn stored(
    api: &Api,
    peer: &Peer,
    socket: &mut WebSocket,
    wanted: &mut Wanted,
    records: &Records,
    read: ReadAnswer,
) -> Option<u64> {
    let (end_offset, next_offset) = (read.end_offset, read.next_offset);
    let kind = match read.kind {
        BatchKind::Rawline => DeliveryKind::Batches,
        BatchKind::Kafka => DeliveryKind::RecordBatches,
    };
    let mut head = Vec::new();
    let delivery = Delivery {
        kind,
        topic: &records.topic,
        partition: records.number,
        first_offset: read.first_offset,
        end_offset,
        time_us: records.partition.appended_us_of_offset(end_offset - 1),
    };
    delivery.put(&mut head);
    let mut pieces = response::batches(read);
    let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    pieces.insert(0, Bytes::from(head));
    let Joined { pieces, holds_buffers } = join::join(peer, pieces).await;
    socket.send(FrameKind::Binary, pieces, holds_buffers).await.ok()?;
    api.metrics.returned(Protocol::WebSocket, end_offset - records.offset, bytes);
    wanted.caller.read(bytes);
    wanted.subscription.delivered(records, end_offset, next_offset);
    Some(bytes)
}

/// Sends the records that fulfil the filter.
async fn filtered(
    api: &Api,
    peer: &Peer,
    socket: &mut WebSocket,
    wanted: &mut Wanted,
    records: &Records,
    read: ReadAnswer,
    turn: Option<SemaphorePermit<'_>>,
) -> Option<Result<(), ApiError>> {
    let Some(filter) = &wanted.filter else { unreachable!("without a filter, batches are sent as they are stored") };
    let next_offset = read.next_offset;
    let found = match selected::find(api, peer, filter, records, read, FILTERED.bytes_max).await {
        Ok(found) => found,
        Err(error) => {
            let Some(next_offset) = error.next_offset() else { return Some(Err(error)) };
            deliver::unreadable(records, &error);
            say(socket, Some(deliver::skipped(api, records, next_offset))).await?;
            let end = records.partition.stable_offset().max(next_offset);
            wanted.subscription.delivered(records, next_offset, end);
            return Some(Ok(()));
        }
    };
    drop(turn);
    if found.records > 0 {
        socket.send_frames(found.frames, true).await.ok()?;
        api.metrics.returned(Protocol::WebSocket, found.records, found.bytes);
        wanted.caller.read(found.bytes);
    }
    wanted.subscription.delivered(records, found.end_offset, next_offset.max(found.end_offset));
    Some(Ok(()))
}
