//! Authentication over Kafka's protocol: a client with a key gets in, any other gets an error and loses the
//! connection.

use crate::support::kafka::Client;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rawline_kafka::messages::{
    ApiVersionsRequest, MetadataRequest, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest,
    SaslHandshakeResponse,
};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::Access;
use rawline_server::http::{HttpConfig, Waits};
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use ring::{digest, hmac, pbkdf2};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const KEYS: [&str; 2] = ["first key", "second key"];

async fn served(keys: &[&str]) -> Served {
    let access = Access::of_keys(keys.iter().map(|&key| key.to_owned()).collect());
    Served::on(in_memory(), HttpConfig { access, ..HttpConfig::default() }, 64 << 20).await
}

async fn handshake(client: &mut Client, version: i16, mechanism: &str) -> SaslHandshakeResponse {
    let request = SaslHandshakeRequest { mechanism: mechanism.to_owned() };
    let Response::SaslHandshake(response) = client.call(version, request).await else { panic!() };
    response
}

async fn authenticate(client: &mut Client, message: &[u8]) -> SaslAuthenticateResponse {
    let request = SaslAuthenticateRequest { auth_bytes: message.to_vec().into() };
    let Response::SaslAuthenticate(response) = client.call(2, request).await else { panic!() };
    response
}

async fn begin(server: &Served, mechanism: &str) -> Client {
    let mut client = Client::connect(server).await;
    assert_eq!(handshake(&mut client, 1, mechanism).await.error_code, i16::from(ErrorCode::None));
    client
}

async fn is_closed(client: &mut Client) -> bool {
    client.stream.read(&mut [0]).await.is_ok_and(|bytes| bytes == 0)
}

async fn is_authenticated(client: &mut Client) -> bool {
    let Response::Metadata(metadata) = client.call(12, MetadataRequest::default()).await else { panic!() };
    metadata.brokers.len() == 1
}

/// Expects that the client is refused, and its connection closed.
async fn refused(mut client: Client, message: &[u8], code: ErrorCode, why: &str) {
    let SaslAuthenticateResponse { error_code, error_message, auth_bytes, .. } =
        authenticate(&mut client, message).await;
    assert_eq!((error_code, auth_bytes.len()), (code.into(), 0));
    assert!(error_message.as_ref().unwrap().contains(why), "{error_message:?}");
    assert!(is_closed(&mut client).await);
}

/// The client's half of SCRAM.
struct Scram {
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

impl Scram {
    fn sign(&self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(self.hmac, key), bytes).as_ref().to_vec()
    }

    /// The second message, and what the broker must respond to it.
    fn finish(&self, key: &str, bare: &str, response: &str) -> (String, String) {
        let mut fields = response.split(',').map(|field| field.split_at(2).1);
        let (nonce, salt) = (fields.next().unwrap(), BASE64_STANDARD.decode(fields.next().unwrap()).unwrap());
        let iterations = fields.next().unwrap().parse().unwrap();
        assert!(nonce.starts_with("client-nonce") && nonce.len() > 30);
        let mut salted = vec![0; self.hmac.digest_algorithm().output_len()];
        pbkdf2::derive(self.pbkdf2, iterations, &salt, key.as_bytes(), &mut salted);
        let client_key = self.sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hmac.digest_algorithm(), &client_key);
        let without_proof = format!("c=biws,r={nonce}");
        let messages = format!("{bare},{response},{without_proof}");
        let signature = self.sign(stored_key.as_ref(), messages.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(signature).map(|(key, byte)| key ^ byte).collect();
        let expected = self.sign(&self.sign(&salted, b"Server Key"), messages.as_bytes());
        let message = format!("{without_proof},p={}", BASE64_STANDARD.encode(proof));
        (message, format!("v={}", BASE64_STANDARD.encode(expected)))
    }
}

const SCRAM: [(&str, Scram); 2] = [
    ("SCRAM-SHA-256", Scram { hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256 }),
    ("SCRAM-SHA-512", Scram { hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512 }),
];

/// Both first messages of SCRAM; the broker's.
async fn first(client: &mut Client) -> String {
    let response = authenticate(client, b"n,,n=user,r=client-nonce").await;
    assert_eq!(response.error_code, i16::from(ErrorCode::None));
    String::from_utf8(response.auth_bytes.to_vec()).unwrap()
}

const BARE: &str = "n=user,r=client-nonce";

#[tokio::test]
async fn clients_with_a_key_get_in() {
    let server = served(&KEYS).await;
    for key in KEYS {
        for user in ["me", "another user"] {
            let mut client = Client::connect(&server).await;
            // Clients ask for versions before, or don't.
            client.call(3, ApiVersionsRequest::default()).await;
            assert_eq!(handshake(&mut client, 1, "PLAIN").await.error_code, i16::from(ErrorCode::None));
            let response = authenticate(&mut client, format!("\0{user}\0{key}").as_bytes()).await;
            assert_eq!(response, SaslAuthenticateResponse::default());
            assert!(is_authenticated(&mut client).await);
        }
        for (mechanism, scram) in SCRAM {
            let mut client = begin(&server, mechanism).await;
            let response = first(&mut client).await;
            let (message, expected) = scram.finish(key, BARE, &response);
            let response = authenticate(&mut client, message.as_bytes()).await;
            assert_eq!((response.error_code, &response.auth_bytes[..]), (0, expected.as_bytes()));
            assert!(is_authenticated(&mut client).await);
        }
    }
}

#[tokio::test]
async fn clients_without_a_key_are_refused() {
    let server = served(&KEYS).await;
    let failed = ErrorCode::SaslAuthenticationFailed;
    for (message, why) in [
        (&b"\0me\0wrong"[..], "API keys"),
        (b"\0me\0first ke", "API keys"),
        (b"\0me\0", "without a password"),
        (b"me", "without a user"),
        (b"", "without a user"),
        (b"\0me\0\xff", "isn't text"),
        (b"admin\0me\0first key", "act as another"),
    ] {
        refused(begin(&server, "PLAIN").await, message, failed, why).await;
    }
    for (mechanism, scram) in SCRAM {
        for (message, why) in [
            (&b""[..], "without a header"),
            (b"n,,n=user", "without a nonce"),
            (b"p=tls-unique,,n=user,r=1", "channel binding"),
            (b"n,,n=user,r=1,tokenauth=true", "token"),
            (b"n,a=admin,n=user,r=1", "act as another"),
        ] {
            refused(begin(&server, mechanism).await, message, failed, why).await;
        }
        // The wrong key; a proof of the right one that is cut, or of another exchange.
        let mut client = begin(&server, mechanism).await;
        let response = first(&mut client).await;
        let (message, _) = scram.finish("wrong", BARE, &response);
        refused(client, message.as_bytes(), failed, "API keys").await;
        let mut client = begin(&server, mechanism).await;
        let response = first(&mut client).await;
        let (message, _) = scram.finish(KEYS[0], BARE, &response);
        refused(client, &message.as_bytes()[..message.len() - 8], failed, "API keys").await;
        let mut client = begin(&server, mechanism).await;
        let other = first(&mut client).await;
        assert_ne!(other, response);
        refused(client, message.as_bytes(), failed, "not about the first").await;
    }
}

#[tokio::test]
async fn requests_out_of_order_close_the_connection() {
    let server = served(&KEYS).await;
    // Before authentication, everything else, and large requests: without a response.
    for api in Api::ALL.iter().filter(|api| !api.name().starts_with("Sasl") && **api != Api::ApiVersions) {
        let mut client = Client::connect(&server).await;
        let request = client.request(api.key(), *api.versions().start(), &[0; 8]);
        client.stream.write_all(&request).await.unwrap();
        assert!(client.stream.read(&mut [0]).await.unwrap_or(0) == 0, "{}", api.name());
    }
    let mut client = begin(&server, "PLAIN").await;
    client.stream.write_all(&9000_i32.to_be_bytes()).await.unwrap();
    assert!(is_closed(&mut client).await);

    let illegal = ErrorCode::IllegalSaslState;
    refused(Client::connect(&server).await, b"\0me\0first key", illegal, "no handshake").await;
    for (version, mechanism, code) in [(1, "PLAIN", illegal), (1, "SCRAM-SHA-256", illegal), (0, "PLAIN", illegal)] {
        let mut client = begin(&server, "PLAIN").await;
        assert_eq!(handshake(&mut client, version, mechanism).await.error_code, i16::from(code));
        assert!(is_closed(&mut client).await);
    }
    for (version, mechanism, code) in
        [(1, "GSSAPI", ErrorCode::UnsupportedSaslMechanism), (0, "PLAIN", ErrorCode::UnsupportedVersion)]
    {
        let mut client = Client::connect(&server).await;
        let response = handshake(&mut client, version, mechanism).await;
        assert_eq!(response.error_code, i16::from(code));
        assert_eq!(response.mechanisms, ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]);
        assert!(is_closed(&mut client).await);
    }
    // A second exchange is refused, and changes nothing.
    let mut client = begin(&server, "PLAIN").await;
    assert_eq!(authenticate(&mut client, b"\0me\0first key").await.error_code, 0);
    assert_eq!(handshake(&mut client, 1, "PLAIN").await.error_code, i16::from(illegal));
    assert_eq!(authenticate(&mut client, b"\0me\0wrong").await.error_code, i16::from(illegal));
    assert!(is_authenticated(&mut client).await);
}

#[tokio::test]
async fn a_broker_without_keys_authenticates_no_client() {
    let server = served(&[]).await;
    let mut client = Client::connect(&server).await;
    let response = handshake(&mut client, 1, "PLAIN").await;
    assert_eq!(response.error_code, i16::from(ErrorCode::UnsupportedSaslMechanism));
    assert!(response.mechanisms.is_empty() && is_closed(&mut client).await);
    let client = Client::connect(&server).await;
    refused(client, b"\0me\0first key", ErrorCode::IllegalSaslState, "no API key").await;
}

#[tokio::test]
async fn a_client_that_waits_loses_its_connection() {
    let waits = Waits { head: Duration::from_millis(300), ..Waits::default() };
    let access = Access::of_keys(vec![KEYS[0].to_owned()]);
    let config = HttpConfig { access, waits, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let mut authenticated = begin(&server, "PLAIN").await;
    assert_eq!(authenticate(&mut authenticated, b"\0me\0first key").await.error_code, 0);
    let (mut silent, mut half) = (Client::connect(&server).await, begin(&server, "SCRAM-SHA-256").await);
    first(&mut half).await;
    assert!(is_closed(&mut silent).await && is_closed(&mut half).await);
    assert!(is_authenticated(&mut authenticated).await);
}
