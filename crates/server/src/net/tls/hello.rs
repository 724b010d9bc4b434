//! The protocol of a client, recognized by its first bytes.

/// The protocol that the first byte of a connection indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hello {
    /// A TLS handshake.
    Tls,
    /// An HTTP request.
    Http,
    /// A request of Kafka's protocol, of less than 16 MiB.
    Kafka,
    /// Something else.
    Other,
}

impl Hello {
    pub fn of(first: u8) -> Hello {
        match first {
            HANDSHAKE => Hello::Tls,
            b'A'..=b'Z' => Hello::Http,
            0 => Hello::Kafka,
            _ => Hello::Other,
        }
    }
}

/// The type of a TLS record that has a handshake (RFC 8446, section 5.1), and the first byte of its version.
const HANDSHAKE: u8 = 22;
const VERSION: u8 = 3;

/// Whether a connection that begins with these bytes begins a TLS handshake. Neither a request of HTTP nor one of
/// Kafka's protocol of less than 352 MiB does.
pub(crate) fn is_tls(received: &[u8]) -> bool {
    received.starts_with(&[HANDSHAKE, VERSION])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_says_what_a_client_speaks() {
        for (first, hello) in [(22, Hello::Tls), (b'G', Hello::Http), (0, Hello::Kafka), (b'g', Hello::Other)] {
            assert_eq!(Hello::of(first), hello);
        }
        assert!(is_tls(&[22, 3, 1, 2, 0]));
        assert!(!is_tls(&[22]) && !is_tls(b"GET / HTTP/1.1\r\n") && !is_tls(&[0, 0, 1, 3]));
    }
}
