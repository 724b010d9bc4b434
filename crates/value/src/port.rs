//! A port number with its protocol.

use std::fmt;
use std::str::FromStr;

/// A port, displayed as `53/udp`. Ordered by number, then protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port {
    /// The number.
    pub number: u16,
    /// The protocol that the number belongs to.
    pub protocol: Protocol,
}

/// A port's protocol, with its number in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Protocol {
    /// Unknown, displayed as `?`.
    #[default]
    Unknown = 0,
    /// TCP.
    Tcp = 1,
    /// UDP.
    Udp = 2,
    /// ICMP.
    Icmp = 3,
}

/// The text isn't a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a port; write it as 443/tcp, 53/udp, 8/icmp or 0/?, the number at most 65535")]
pub struct PortError;

impl Port {
    /// Creates a port.
    pub fn new(number: u16, protocol: Protocol) -> Port {
        Port { number, protocol }
    }
}

impl Protocol {
    /// The protocol with this number in the format.
    pub fn of_number(number: u8) -> Option<Protocol> {
        Some(match number {
            0 => Protocol::Unknown,
            1 => Protocol::Tcp,
            2 => Protocol::Udp,
            3 => Protocol::Icmp,
            _ => return None,
        })
    }

    /// The protocol with this name, as [`Protocol::name`] returns it, in lower or upper case.
    pub fn of_name(name: &str) -> Option<Protocol> {
        [Protocol::Unknown, Protocol::Tcp, Protocol::Udp, Protocol::Icmp]
            .into_iter()
            .find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }

    /// The protocol's name; `?` if unknown.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Unknown => "?",
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp => "icmp",
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.protocol.name())
    }
}

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Port, PortError> {
        let (number, protocol) = text.split_once('/').ok_or(PortError)?;
        let protocol = Protocol::of_name(protocol).ok_or(PortError)?;
        // The library accepts a plus.
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PortError);
        }
        Ok(Port { number: number.parse().map_err(|_| PortError)?, protocol })
    }
}
