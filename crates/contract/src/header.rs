//! The names of the API's own headers.

use http::HeaderName;

/// Offset of the first record in the body of a response.
pub const FIRST_OFFSET: HeaderName = HeaderName::from_static("rawline-first-offset");
/// The topic's `next_offset` at the time of the response.
pub const NEXT_OFFSET: HeaderName = HeaderName::from_static("rawline-next-offset");
