//! Random requests with well-formed bodies, of every API in every version: each gets a response of its version, and the
//! connection stays.
//!
//! `RAWLINE_FUZZ_ROUNDS` says how many of each, `RAWLINE_FUZZ_SEED` where the random numbers begin; `make fuzz` runs it
//! for longer.

use crate::support::kafka::{Client, batch, fetch_body, produce_body, produced, served};
use bytes::Bytes;
use fastrand::Rng;
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::messages::{ApiVersionsRequest, JoinGroupRequest, Source, Uuid};
use rawline_kafka::{Api, Request, Response, WireError};
use rawline_testkit::served::Served;

/// Strings that handlers may meet: names that exist, that can't, that look like others.
const TEXTS: [&str; 10] =
    ["", "t", "u", "g", "p", "1", "__consumer_offsets", "compact,delete", "retention.ms", "\u{e9}\u{0} /"];

/// The source of a request's fields.
struct Random<'a>(&'a mut Rng);

/// A number: small, at a border, or any.
macro_rules! number {
    ($($name:ident),*) => {$(
        fn $name(&mut self) -> Result<$name, WireError> {
            Ok(match self.0.u8(..8) {
                0 => $name::MIN,
                1 => $name::MAX,
                2 => self.0.$name(..),
                3 => -1,
                _ => self.0.$name(0..6),
            })
        }
    )*};
}

impl Source for Random<'_> {
    number!(i8, i16, i32, i64);

    fn bool(&mut self) -> Result<bool, WireError> {
        Ok(self.0.bool())
    }

    fn uuid(&mut self) -> Result<Uuid, WireError> {
        Ok(Uuid(if self.0.bool() { [0; 16] } else { [self.0.u8(..); 16] }))
    }

    fn string(&mut self, is_nullable: bool) -> Result<Option<String>, WireError> {
        let text = match self.0.u8(..20) {
            0 => "x".repeat(self.0.usize(..400)),
            _ => self.0.choice(TEXTS).unwrap().to_owned(),
        };
        Ok((!is_nullable || self.0.u8(..4) > 0).then_some(text))
    }

    fn bytes(&mut self, is_nullable: bool) -> Result<Option<Bytes>, WireError> {
        let bytes: Vec<u8> = (0..self.0.usize(..30)).map(|_| self.0.u8(..)).collect();
        Ok((!is_nullable || self.0.u8(..4) > 0).then(|| bytes.into()))
    }

    fn count(&mut self, _element_bytes: usize, is_nullable: bool) -> Result<Option<usize>, WireError> {
        Ok((!is_nullable || self.0.u8(..4) > 0).then(|| self.0.usize(..4)))
    }

    fn is_present(&mut self) -> Result<bool, WireError> {
        self.bool()
    }

    fn tags(&mut self, mut read: impl FnMut(&mut Self, u32) -> Result<bool, WireError>) -> Result<(), WireError> {
        for tag in 0..5 {
            if self.0.bool() {
                read(self, tag)?;
            }
        }
        Ok(())
    }
}

/// Members of a group wait for each other, so each request gets its own group.
fn alone(request: Request, number: u64) -> Request {
    match request {
        Request::JoinGroup(join) => {
            let group_id = if join.group_id.is_empty() { String::new() } else { format!("{}-{number}", join.group_id) };
            JoinGroupRequest { group_id, ..join }.into()
        }
        other => other,
    }
}

/// One request and its response.
async fn ask(client: &mut Client, api: Api, version: i16, random: &mut Rng, number: u64) {
    let request = match api {
        Api::Produce | Api::Fetch => return,
        _ => alone(Request::from_source(api, version, &mut Random(random)).unwrap(), number),
    };
    let mut body = Vec::new();
    request.write(version, &mut body);
    let body = client.exchange(api, version, &body).await;
    let response = Response::read(api, version, &body).unwrap_or_else(|error| panic!("{error} after {request:?}"));
    let mut again = Vec::new();
    response.write(version, &mut again);
    assert_eq!(again, body, "{request:?}");
}

#[expect(clippy::disallowed_methods, reason = "`make fuzz` has no other way to ask for more")]
fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

async fn new_client(server: &Served) -> Client {
    let mut client = Client::connect(server).await;
    client.create("t").await;
    client
}

#[tokio::test]
async fn random_requests_get_responses_of_their_version() {
    let seed = number_of("RAWLINE_FUZZ_SEED").unwrap_or(1);
    let (server, _dir) = served().await;
    let mut client = new_client(&server).await;
    let Response::ApiVersions(versions) = client.call(3, ApiVersionsRequest::default()).await else { panic!() };
    let mut number = 0;
    for round in 0..number_of("RAWLINE_FUZZ_ROUNDS").unwrap_or(4) {
        let mut random = Rng::with_seed(seed + round);
        for found in &versions.api_keys {
            let api = Api::from_key(found.api_key).unwrap();
            for version in found.min_version.max(*api.versions().start())..=found.max_version {
                number += 1;
                ask(&mut client, api, version, &mut random, number).await;
                if api.name().starts_with("Sasl") {
                    // Without keys there is nothing to authenticate with, and the connection ends.
                    client = new_client(&server).await;
                }
            }
        }
    }
    // The broker continues.
    client.create("after").await;
    let sent = batch(RecordCodec::None, 3, None);
    let body = client.exchange(Api::Produce, 3, &produce_body("after", -1, &sent)).await;
    assert_eq!(produced(&body, "after"), (0, 0));
    let body = client.exchange(Api::Fetch, 4, &fetch_body("after", 0, 1 << 20, 0)).await;
    assert!(body.len() > sent.len());
    server.wait_for_buffers();
}
