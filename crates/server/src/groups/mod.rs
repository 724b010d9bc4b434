//! What members of groups need over every protocol.

pub mod share;

use std::sync::Arc;

/// Longest name of a client in a member's id.
const NAME_BYTES_MAX: usize = 100;

/// An id that no other member has. It begins with the name, so that people know it again.
#[expect(clippy::disallowed_methods, reason = "an id that nobody else draws")]
pub fn new_member_id(name: &str) -> Arc<str> {
    let end = name.char_indices().map(|(at, _)| at).find(|at| *at >= NAME_BYTES_MAX).unwrap_or(name.len());
    format!("{}-{:032x}", name.split_at(end).0, rand::random::<u128>()).into()
}
