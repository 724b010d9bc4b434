//! The names of headers that the HTTP library doesn't define.

use http::HeaderName;

/// Offset of the first record in the body of a response.
pub const FIRST_OFFSET: HeaderName = HeaderName::from_static("rawline-first-offset");
/// The topic's `next_offset` at the time of the response.
pub const NEXT_OFFSET: HeaderName = HeaderName::from_static("rawline-next-offset");
/// Of an error: the offset after a batch that can't be read, at which a reader continues.
pub const RESUME_OFFSET: HeaderName = HeaderName::from_static("rawline-resume-offset");
/// The cursor at which a subscription continues; browsers send the id of the newest event.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The URL of the broker that has handled a forwarded request: clients may send the next one there.
pub const OWNER: HeaderName = HeaderName::from_static("rawline-owner");
/// The zone that a client runs in.
pub const ZONE: HeaderName = HeaderName::from_static("rawline-zone");
/// The URL of the broker of the client's zone that serves such reads: clients may send the next ones there.
pub const NEARER: HeaderName = HeaderName::from_static("rawline-nearer");
/// Shows that another broker sends a request: its number on the connection, and a code that authenticates it.
pub const PEER: HeaderName = HeaderName::from_static("rawline-peer");
/// The client of a request that another broker forwards.
pub const CALLER: HeaderName = HeaderName::from_static("rawline-caller");
