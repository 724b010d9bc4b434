//! The limits of keys and of the audit log, each with its reason.

use std::num::NonZeroU64;
use std::time::Duration;

/// Maximum size of a keys file in bytes: ten thousand keys with some grants each. It is read whole.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// Maximum number of keys in a file: one for each service of a large organization.
pub const KEYS_MAX: usize = 10_000;

/// Maximum length of a key's name in bytes. It is part of the key, which has to fit a header.
pub const NAME_BYTES_MAX: usize = 64;

/// Maximum number of patterns in a grant. The prefixes among them are compared one by one.
pub const PATTERNS_MAX: usize = 1_000;

/// Refusals that are audited each second. At 300 bytes each, these are 26 MB a day.
pub(super) const REFUSALS_PER_SECOND: NonZeroU64 = NonZeroU64::MIN;

/// For how much time without refusals more are audited at once: 60 of them.
pub(super) const REFUSALS_BURST: Duration = Duration::from_secs(60);

/// Maximum length of a name from outside, such as a topic's, in messages and in the audit log, in bytes.
pub(super) const SHOWN_BYTES_MAX: usize = 249;
