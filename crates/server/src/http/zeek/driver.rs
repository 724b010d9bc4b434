//! A session on its WebSocket: received messages are published, and records of subscribed topics are delivered.

use super::feed::Feed;
use super::message;
use super::publish::Groups;
use super::session::{Action, Session, error};
use super::topic;
use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::long_poll;
use crate::http::render::{self, Buffer};
use crate::http::response::ApiResponse;
use crate::http::select::{self, Wanted};
use crate::http::subscribe::deliver::key_changed;
use crate::http::upgrade::upgrade;
use crate::http::websocket::{CloseCode, FrameKind, Message, WebSocket};
use crate::metrics::{Metered, Protocol};
use crate::net::peer::Peer;
use futures_util::future::join_all;
use http::Request;
use rawline_broker::pool::Gathered;
use rawline_broker::subscriptions::Records;
use rawline_broker::{ReadError, ReadRequest};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// Messages, and bytes of their values, that are published together: those that have arrived.
const PUBLISH_MESSAGES_MAX: usize = 4096;
const PUBLISH_BYTES_MAX: usize = 1 << 20;

/// Limits of one delivery: records, and their stored bytes. The first record is always included.
const DELIVER_RECORDS_MAX: u64 = 4096;
const DELIVER_BYTES_MAX: u64 = 64 << 10;

/// A larger record isn't delivered: its JSON would take [`JSON_FACTOR`] times as much.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// Maximum size of a value's JSON as a multiple of its bytes. The worst case is a none in a table: it has one byte, and
/// its JSON is `{"key":` or `,"value":` and 31 more.
const JSON_FACTOR: u64 = 48;

/// The response to the upgrade.
pub(crate) fn connect<B>(api: &Arc<Api>, caller: &Arc<Caller>, request: &Request<B>) -> Result<ApiResponse, ApiError> {
    let caller = caller.clone();
    upgrade(api, request, None, |api, peer, mut socket| async move {
        let end = run(&api, &peer, &caller, &mut socket).await;
        if let Some((code, reason)) = end {
            socket.close(code, &reason).await;
        }
    })
}

/// Runs until the connection is to be closed; `None` if it has ended.
async fn run(api: &Api, peer: &Peer, caller: &Caller, socket: &mut WebSocket) -> Option<(CloseCode, String)> {
    let mut session = Session::new(endpoint());
    let mut feed = Feed::default();
    let mut stopping = api.stopping.clone();
    loop {
        let (append_wait, read_wait) = (caller.append_wait(), caller.read_wait());
        for (wait, metered) in [(append_wait, Metered::Append), (read_wait, Metered::Read)] {
            if !wait.is_zero() {
                api.metrics.exceeded(Protocol::Zeek, metered);
            }
        }
        let has_ended = || Some((CloseCode::Again, key_changed().to_string()));
        tokio::select! {
            () = caller.ended() => return has_ended(),
            // All can be ready at once.
            message = after(append_wait, socket.receive()) => {
                if caller.has_ended() {
                    return has_ended();
                }
                if let Some(end) = take(api, peer, caller, socket, &mut session, &mut feed, message?).await? {
                    return Some(end);
                }
            }
            records = after(read_wait, feed.next(api)) => {
                if caller.has_ended() {
                    return has_ended();
                }
                let delivered = match records {
                    Ok(records) => deliver(api, peer, caller, socket, &mut feed, &records).await,
                    Err(error) => Err(error),
                };
                match delivered {
                    Ok(is_open) => is_open.then_some(())?,
                    Err(error) => return Some((CloseCode::Error, error.to_string())),
                }
            }
            () = long_poll::stopped(&mut stopping) => {
                return Some((CloseCode::Away, "the broker is shutting down; connect again".to_owned()));
            }
        }
    }
}

/// Does something after the caller's quota has room.
async fn after<T>(wait: Duration, work: impl Future<Output = T>) -> T {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    work.await
}

/// Takes a message and those that have arrived after it. `Some(Some(_))` closes the connection; `None` if it has ended.
async fn take(
    api: &Api,
    peer: &Peer,
    caller: &Caller,
    socket: &mut WebSocket,
    session: &mut Session,
    feed: &mut Feed,
    first: Message,
) -> Option<Option<(CloseCode, String)>> {
    let mut published = Groups::default();
    let mut replies: Vec<String> = Vec::new();
    let mut message = Some(first);
    let (mut end, mut is_open) = (None, true);
    while let Some(next) = message.take() {
        match session.input(&next) {
            Action::Send(text) => replies.push(text),
            Action::Publish { message, input } => published.push(message, input),
            Action::Subscribe { prefixes, ack } => {
                match Feed::new(api, caller, prefixes).await {
                    Ok(new) => *feed = new,
                    Err(error) => {
                        end = Some((CloseCode::Error, error.to_string()));
                        break;
                    }
                }
                replies.push(ack);
            }
            Action::Close(code, reason) => {
                end = Some((code, reason.to_owned()));
                break;
            }
        }
        // A reply goes out before anything else is read: a close frame after it would be answered first.
        if published.messages < PUBLISH_MESSAGES_MAX && published.bytes < PUBLISH_BYTES_MAX && replies.is_empty() {
            match socket.receive_now().await {
                Some(next) => message = next,
                None => is_open = false,
            }
        }
    }
    let appends = published.groups.iter().map(|group| group.append(api, peer, caller));
    for (group, result) in published.groups.iter().zip(join_all(appends).await) {
        match result {
            Ok((name, offsets)) => feed.published(name, &group.topic, offsets),
            Err(refused) => {
                let context = format!("input #{} could not be published to {:?}", group.input, group.topic);
                replies.push(error("publish_failed", &context, &refused.to_string()));
            }
        }
    }
    // Messages that arrived before the end of the connection are still published.
    is_open.then_some(())?;
    for reply in replies {
        socket.send(FrameKind::Text, vec![reply.into()], false).await.ok()?;
    }
    Some(end)
}

/// Delivers some records of a partition; false if the connection has ended.
async fn deliver(
    api: &Api,
    peer: &Peer,
    caller: &Caller,
    socket: &mut WebSocket,
    feed: &mut Feed,
    records: &Records,
) -> Result<bool, ApiError> {
    let (offset, end) = feed.next_of_others(records);
    let readable_end = records.partition.stable_offset();
    if offset >= readable_end {
        feed.delivered(records, offset, readable_end);
        return Ok(true);
    }
    let wanted = ReadRequest {
        offset,
        records_max: DELIVER_RECORDS_MAX.min(end - offset),
        bytes_max: DELIVER_BYTES_MAX,
        wait: Duration::ZERO,
        verify: true,
    };
    let turn = select::turn(api).await?;
    let read = match records.partition.read(&wanted).await {
        Ok(read) => read,
        // Its next turn begins at the first record.
        Err(ReadError::Deleted { .. }) => return Ok(true),
        Err(ReadError::TopicDeleted { .. }) => {
            feed.gone(records);
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    };
    let (read_end, next_offset) = (read.end_offset, read.next_offset);
    let selection = Wanted {
        offset,
        records_max: wanted.records_max,
        bytes_max: wanted.bytes_max,
        unpacked_bytes_max: wanted.bytes_max,
        spans_gaps: true,
    };
    let selected = match select::select(api, read, &selection).await {
        Ok(selected) => selected,
        Err(error) => return pass_over(socket, feed, records, error).await,
    };
    let Some(topic) = topic::decode(&records.topic) else { unreachable!("{records:?} is of no topic of Zeek's") };
    let head = message::head_of(&topic);
    let last = selected.parts.last();
    let mut next = last.map_or(read_end, |last| last.first_offset + last.records());
    let (count, bytes) =
        selected.parts.iter().fold((0, 0), |(records, bytes), part| (records + part.records(), bytes + part.bytes()));
    // A header has at most ten bytes.
    let frames_bytes = bytes * JSON_FACTOR + count * (head.len() as u64 + 16);
    let mut frames = Buffer(Gathered::new(render::reserve(api, peer, frames_bytes).await?));
    let (mut text, mut header) = (Vec::new(), Vec::new());
    for part in &selected.parts {
        let data = match part.data(api).await {
            Ok(data) => data,
            Err(error) if part.first_offset == offset => return pass_over(socket, feed, records, error).await,
            // The next turn begins with the unreadable batch.
            Err(error) if error.next_offset().is_some() => {
                next = part.first_offset;
                break;
            }
            Err(error) => return Err(error),
        };
        for (number, range) in part.ranges()?.enumerate() {
            let record = data.get(&range);
            text.clear();
            header.clear();
            if record.len() > RECORD_BYTES_MAX {
                let context = format!("offset {} of {} is too large", part.first_offset + number as u64, records.topic);
                let detail = format!("{} bytes; read it over HTTP", record.len());
                text.extend_from_slice(error("too_large", &context, &detail).as_bytes());
            } else if message::write(&head, record, &mut text).is_err() {
                // Not a structured value: no message can represent it.
                continue;
            }
            FrameKind::Text.put_header(text.len() as u64, &mut header);
            frames.write_all(&header).and_then(|()| frames.write_all(&text)).map_err(render::too_large)?;
        }
    }
    drop((selected, turn));
    api.metrics.returned(Protocol::Zeek, count, frames.0.bytes());
    caller.read(frames.0.bytes());
    let is_open = socket.send_frames(frames.0.freeze(), true).await.is_ok();
    // Without progress there is nothing more: the next commit wakes it.
    feed.delivered(records, next, if next > offset { next_offset.max(next) } else { next });
    Ok(is_open)
}

/// Says that a batch can't be read, and passes over it; false if the connection has ended.
async fn pass_over(
    socket: &mut WebSocket,
    feed: &mut Feed,
    records: &Records,
    unreadable: ApiError,
) -> Result<bool, ApiError> {
    let Some(next) = unreadable.next_offset() else { return Err(unreadable) };
    let context = format!("records of {} before offset {next}", records.topic);
    let text = error("unreadable", &context, &unreadable.to_string());
    let is_open = socket.send(FrameKind::Text, vec![text.into()], false).await.is_ok();
    feed.delivered(records, next, records.partition.stable_offset().max(next));
    Ok(is_open)
}

/// A random identity, in the form of a UUID.
fn endpoint() -> String {
    #[expect(clippy::disallowed_methods, reason = "nothing depends on the number")]
    let number: u128 = rand::random();
    let hex = format!("{number:032x}");
    let (first, rest) = hex.split_at(8);
    let (second, rest) = rest.split_at(4);
    let (third, rest) = rest.split_at(4);
    let (fourth, fifth) = rest.split_at(4);
    format!("{first}-{second}-{third}-{fourth}-{fifth}")
}
