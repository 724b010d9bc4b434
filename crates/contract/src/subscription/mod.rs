//! A subscription (`GET /subscribe`) over a WebSocket: binary messages of records, control messages in JSON, and the
//! cursor that says where a subscription is.

mod control;
mod delivery;
mod selection;

pub use crate::cursor::{CURSOR_BYTES_MAX, Cursor, CursorError};
pub use control::ControlMessage;
pub use delivery::{DELIVERY_FRONT_BYTES, Delivery, DeliveryError, DeliveryKind};
pub use selection::{Selection, put_selection};

/// Maximum number of topics and prefixes of a subscription.
pub const SELECTORS_MAX: usize = 1024;

/// The protocol that a WebSocket may ask for in `Sec-WebSocket-Protocol`.
pub const WEBSOCKET_PROTOCOL: &str = "rawline.subscribe.v1";

/// Records by which a subscriber may be late before it skips, unless it chooses.
pub const SKIP_LAG_MAX: u64 = 65_536;
