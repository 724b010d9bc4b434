//! A subscription (`GET /subscribe`) over a WebSocket: binary messages of records, control messages in JSON, and the
//! cursor, which is the subscription's position.

mod control;
mod delivery;
mod selection;

pub use crate::cursor::{CURSOR_BYTES_MAX, Cursor, CursorError, InTopic, ShortId};
pub use control::ControlMessage;
pub use delivery::{DELIVERY_FRONT_BYTES, Delivery, DeliveryError, DeliveryKind};
pub use selection::{Selection, put_selection};

/// The protocol that a client can offer in `Sec-WebSocket-Protocol`.
pub const WEBSOCKET_PROTOCOL: &str = "rawline.subscribe.v1";
