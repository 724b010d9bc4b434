//! A network: an address and the length of its prefix.

use std::fmt;
use std::str::FromStr;

use crate::Address;

/// Added to the length of an IPv4 prefix when it is counted on the 128-bit address.
const IPV4_PREFIX_BITS: u8 = 96;

/// A network. Bytes from outside may hold a subnet that [`Subnet::new`] doesn't create (bits after the prefix, a prefix
/// of 200); it is kept and written unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subnet {
    network: Address,
    prefix_bits: u8,
}

/// The text or the length isn't a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubnetError {
    /// Not of the form `address/length`.
    #[error("not a subnet; write it as 192.0.2.0/24 or 2001:db8::/32")]
    Text,
    /// A prefix longer than the address.
    #[error("a prefix of {0} bits is longer than the address; at most 32 for IPv4, 128 for IPv6")]
    Length(u8),
}

impl Subnet {
    /// The network that contains `address`; `length` counts in the address's family. Bits after the prefix are
    /// cleared.
    pub fn new(address: Address, length: u8) -> Result<Subnet, SubnetError> {
        let (skipped_bits, length_max) = if address.is_ipv4() { (IPV4_PREFIX_BITS, 32) } else { (0, 128) };
        if length > length_max {
            return Err(SubnetError::Length(length));
        }
        let prefix_bits = length + skipped_bits;
        let mask = u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0);
        let network = Address::from_octets((u128::from_be_bytes(*address.octets()) & mask).to_be_bytes());
        Ok(Subnet { network, prefix_bits })
    }

    /// A subnet of exactly these parts, unchecked; `prefix_bits` counts on the 128-bit address.
    pub fn from_raw(network: Address, prefix_bits: u8) -> Subnet {
        Subnet { network, prefix_bits }
    }

    /// The subnet of the bytes after its tag.
    #[inline]
    pub(crate) fn from_bytes(bytes: [u8; 17]) -> Subnet {
        let [network @ .., prefix_bits] = bytes;
        Subnet::from_raw(Address::from_octets(network), prefix_bits)
    }

    /// The bytes after its tag.
    pub(crate) fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [self.prefix_bits; 17];
        if let Some(network) = bytes.first_chunk_mut() {
            *network = *self.network.octets();
        }
        bytes
    }

    /// The network's address.
    pub fn network(&self) -> Address {
        self.network
    }

    /// The prefix's length as stored in the format, on the 128-bit address: 120 for an IPv4 /24.
    pub fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }

    /// The prefix's length in the address's family; `None` if the bytes hold an invalid one.
    pub fn length(&self) -> Option<u8> {
        if self.prefix_bits > 128 {
            return None;
        }
        if self.network.is_ipv4() { self.prefix_bits.checked_sub(IPV4_PREFIX_BITS) } else { Some(self.prefix_bits) }
    }

    /// Whether the subnet is one that [`Subnet::new`] creates: a valid length, no bit set after the prefix.
    pub fn is_canonical(&self) -> bool {
        self.length().is_some_and(|length| Subnet::new(self.network, length) == Ok(*self))
    }
}

impl fmt::Display for Subnet {
    /// `address/length`. An invalid length is shown as in the original, in eight bits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped_bits = if self.network.is_ipv4() { IPV4_PREFIX_BITS } else { 0 };
        write!(formatter, "{}/{}", self.network, self.prefix_bits.wrapping_sub(skipped_bits))
    }
}

impl FromStr for Subnet {
    type Err = SubnetError;

    fn from_str(text: &str) -> Result<Subnet, SubnetError> {
        let (address, length) = text.split_once('/').ok_or(SubnetError::Text)?;
        let address = address.parse().map_err(|_| SubnetError::Text)?;
        // The library accepts a plus.
        if !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SubnetError::Text);
        }
        Subnet::new(address, length.parse().map_err(|_| SubnetError::Text)?)
    }
}
