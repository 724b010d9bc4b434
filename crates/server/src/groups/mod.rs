//! Functions for members of groups that both protocols share.

pub mod share;

use std::sync::Arc;

/// Longest name of a client in a member's id.
const NAME_BYTES_MAX: usize = 100;

/// A unique member id. It begins with the name, so that a user recognizes it.
#[expect(clippy::disallowed_methods, reason = "a unique id")]
pub fn new_member_id(name: &str) -> Arc<str> {
    let end = name.char_indices().map(|(at, _)| at).find(|at| *at >= NAME_BYTES_MAX).unwrap_or(name.len());
    format!("{}-{:032x}", name.split_at(end).0, rand::random::<u128>()).into()
}
