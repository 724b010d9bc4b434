//! Authentication: SaslHandshake chooses a mechanism, SaslAuthenticate carries its messages. A client has to have one
//! of the broker's API keys. Its user name matters with SCRAM and a key of the keys file only.

mod scram;

use super::client::Client;
use super::error::{ConnectionError, Refusal};
use super::mechanisms::{Mechanism, Sasl};
use crate::access::{Access, Caller};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use rawline_kafka::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use rawline_kafka::sasl::PlainMessage;
use rawline_kafka::{Api, ErrorCode};
use scram::{Exchange, RANDOM_BYTES, ScramError};
use std::sync::Arc;
use std::time::Duration;

/// A client has this long to authenticate.
pub(super) const LOGIN_WAIT: Duration = Duration::from_secs(10);

/// Maximum size of a request of a client that isn't authenticated, in bytes.
pub(super) const LOGIN_BYTES_MAX: u64 = 8 << 10;

/// How far the client of a connection is.
pub(super) enum Login {
    /// A handshake comes next.
    Begun,
    /// The first message of this mechanism comes next.
    Chosen(Mechanism),
    /// The second message of SCRAM comes next.
    Answered(Box<Exchange>),
    /// It is authenticated, or needn't be.
    Done,
    /// The connection ends after this response.
    Refused(String),
}

impl Login {
    /// Of a new connection.
    pub fn new(sasl: Option<&Sasl>) -> Login {
        if sasl.is_some() { Login::Begun } else { Login::Done }
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Login::Done)
    }

    /// Fails if a client that isn't authenticated may not send this request.
    pub fn allow(&self, api: Api) -> Result<(), ConnectionError> {
        match api {
            Api::ApiVersions | Api::SaslHandshake | Api::SaslAuthenticate => Ok(()),
            _ if self.is_done() => Ok(()),
            _ => Err(ConnectionError::NotAuthenticated { api: api.name() }),
        }
    }

    /// Fails if the client was refused, after the response with the reason.
    pub fn check(&self) -> Result<(), ConnectionError> {
        match self {
            Login::Refused(reason) => Err(ConnectionError::Login { reason: reason.clone() }),
            _ => Ok(()),
        }
    }

    pub fn handshake(
        &mut self,
        sasl: Option<&Sasl>,
        version: i16,
        request: &SaslHandshakeRequest,
    ) -> SaslHandshakeResponse {
        let mechanisms =
            if sasl.is_some() { Mechanism::ALL.map(|known| known.name().to_owned()).to_vec() } else { vec![] };
        let chosen = Mechanism::ALL.into_iter().find(|known| known.name() == request.mechanism);
        let chosen = match (&self, chosen) {
            _ if sasl.is_none() => {
                let message = "the broker has no API key; connect without authentication (security.protocol=PLAINTEXT)";
                Err(Refusal::new(ErrorCode::UnsupportedSaslMechanism, message))
            }
            // Kafka's brokers answer the same: there is nothing to renew.
            (Login::Done, _) => Err(Refusal::new(ErrorCode::IllegalSaslState, "the client is authenticated")),
            (Login::Begun, _) if version == 0 => {
                let message = "SaslHandshake 0, of clients before Kafka 1.0; use a newer client";
                Err(Refusal::new(ErrorCode::UnsupportedVersion, message))
            }
            (Login::Begun, Some(mechanism)) => Ok(mechanism),
            (Login::Begun, None) => {
                let (names, asked) = (mechanisms.join(", "), &request.mechanism);
                let message = format!("unknown mechanism {asked:?}; the broker has {names}");
                Err(Refusal::new(ErrorCode::UnsupportedSaslMechanism, message))
            }
            _ => Err(Refusal::new(ErrorCode::IllegalSaslState, "a second handshake")),
        };
        let error_code = match chosen {
            Ok(mechanism) => {
                *self = Login::Chosen(mechanism);
                ErrorCode::None
            }
            Err(refusal) => self.refuse(refusal, sasl).code,
        };
        SaslHandshakeResponse { error_code: error_code.into(), mechanisms }
    }

    pub fn authenticate(&mut self, client: &Client, request: &SaslAuthenticateRequest) -> SaslAuthenticateResponse {
        let sasl = client.kafka.sasl.as_ref();
        match self.step(client, sasl, &request.auth_bytes) {
            // The lifetime of 0 is without end: a client needn't authenticate again.
            Ok(message) => {
                SaslAuthenticateResponse { auth_bytes: message.into(), ..SaslAuthenticateResponse::default() }
            }
            Err(refusal) => {
                let Refusal { code, message } = self.refuse(refusal, sasl);
                if code == ErrorCode::SaslAuthenticationFailed {
                    client.audit_refusal("SaslAuthenticate", "", "unauthorized");
                }
                SaslAuthenticateResponse {
                    error_code: code.into(),
                    error_message: Some(message),
                    ..SaslAuthenticateResponse::default()
                }
            }
        }
    }

    /// Takes a message of the mechanism; the broker's.
    fn step(&mut self, client: &Client, sasl: Option<&Sasl>, message: &[u8]) -> Result<Vec<u8>, Refusal> {
        let failed = |error: ScramError| Refusal::new(ErrorCode::SaslAuthenticationFailed, error.to_string());
        let log_in = |caller: Arc<Caller>| {
            client.session.log_in(caller).map_err(|message| Refusal::new(ErrorCode::SaslAuthenticationFailed, message))
        };
        let illegal = |message| Err(Refusal::new(ErrorCode::IllegalSaslState, message));
        let Some(sasl) = sasl else { return illegal("the broker has no API key; connect without authentication") };
        match std::mem::replace(self, Login::Begun) {
            Login::Chosen(Mechanism::Plain) => {
                log_in(plain(&sasl.access, message).map_err(failed)?)?;
                *self = Login::Done;
                Ok(Vec::new())
            }
            Login::Chosen(Mechanism::Scram(hash)) => {
                let nonce = BASE64_STANDARD_NO_PAD.encode(random());
                let (exchange, message) =
                    Exchange::begin(hash, |user| sasl.candidates(hash, user), &nonce, message).map_err(failed)?;
                *self = Login::Answered(Box::new(exchange));
                Ok(message)
            }
            Login::Answered(exchange) => {
                let (message, caller) = exchange.finish(message).map_err(failed)?;
                log_in(caller)?;
                *self = Login::Done;
                Ok(message)
            }
            Login::Done => {
                *self = Login::Done;
                illegal("the client is authenticated")
            }
            Login::Begun | Login::Refused(_) => illegal("no handshake precedes this message"),
        }
    }

    /// The connection ends after the response, unless the client is authenticated.
    fn refuse(&mut self, refusal: Refusal, sasl: Option<&Sasl>) -> Refusal {
        if sasl.is_none() || !self.is_done() {
            *self = Login::Refused(refusal.message.clone());
        }
        refusal
    }
}

#[expect(clippy::disallowed_methods, reason = "a nonce for each exchange")]
fn random() -> [u8; RANDOM_BYTES] {
    rand::random()
}

/// The caller of the key in PLAIN's only message.
fn plain(access: &Access, message: &[u8]) -> Result<Arc<Caller>, ScramError> {
    let PlainMessage { authorization, user, password } = PlainMessage::read(message)?;
    if !authorization.is_empty() && authorization != user {
        return Err(ScramError::Authorization);
    }
    access.identify(password.as_bytes()).ok_or(ScramError::Proof)
}
