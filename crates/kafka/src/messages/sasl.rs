//! Authentication.

use super::structure::*;

structures! {
    /// Chooses a mechanism.
    struct SaslHandshakeRequest {
        mechanism: String [0..],
    }

    /// The mechanisms that the broker has.
    struct SaslHandshakeResponse {
        error_code: i16 [0..],
        mechanisms: Vec<String> [0..],
    }

    /// A step of the mechanism.
    struct SaslAuthenticateRequest {
        auth_bytes: Bytes [0..],
    }

    /// The broker's step.
    struct SaslAuthenticateResponse {
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        auth_bytes: Bytes [0..],
        session_lifetime_ms: i64 [1..],
    }
}
