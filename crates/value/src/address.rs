//! An IPv4 or IPv6 address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address as stored in the format: 16 bytes in network order, an IPv4 address mapped into IPv6 (`::ffff:1.2.3.4`).
/// Displayed as a dotted quad or according to RFC 5952.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address([u8; 16]);

/// The text isn't an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an IPv4 or IPv6 address; write it as 192.0.2.1 or 2001:db8::1")]
pub struct AddressError;

impl Address {
    /// Creates an address from its 16 bytes.
    pub fn from_octets(octets: [u8; 16]) -> Address {
        Address(octets)
    }

    /// The 16 bytes.
    pub fn octets(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is an IPv4 address.
    pub fn is_ipv4(&self) -> bool {
        self.0.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
    }

    /// The address in its family, as a standard library type.
    pub fn to_ip(&self) -> IpAddr {
        let address = Ipv6Addr::from(self.0);
        match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(address),
        }
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Address {
        Address(address.to_ipv6_mapped().octets())
    }
}

impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Address {
        Address(address.octets())
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ip().fmt(formatter)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        IpAddr::from_str(text).map(Address::from).map_err(|_| AddressError)
    }
}
