//! A proxy that makes directory buckets (S3 Express One Zone) of an S3 server's buckets: requests need a session, and a
//! listing has no order, can't begin after a key, and ends its pages anywhere.

use crate::http::{Request, answer, forward, serve};
use crate::s3_server::{ACCESS_KEY, SECRET_KEY};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The token of every session.
const SESSION: &str = "a-session";

/// Listings that clients haven't read to the end.
#[derive(Default)]
struct Listings {
    /// The keys that are left, and the server's next page, by the token that continues them.
    left: HashMap<String, (Vec<String>, Option<String>)>,
    random: fastrand::Rng,
}

/// Starts a proxy before a server.
pub async fn start(server: SocketAddr) -> SocketAddr {
    let listings = Arc::new(Mutex::new(Listings { random: fastrand::Rng::with_seed(1), ..Listings::default() }));
    serve(move |request| {
        let listings = listings.clone();
        async move { handle(server, &listings, request).await }
    })
    .await
}

async fn handle(server: SocketAddr, listings: &Mutex<Listings>, request: Request) -> Vec<u8> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    if query == "session" {
        let is_signed = request.header("authorization").is_some_and(|signature| signature.contains(ACCESS_KEY));
        return if is_signed { session() } else { refuse("403 Forbidden", "AccessDenied") };
    }
    if request.header("x-amz-s3session-token") != Some(SESSION) {
        return refuse("403 Forbidden", "AccessDenied");
    }
    if !query.contains("list-type=2") {
        return forward(server, &request).await;
    }
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let is_folder = parameter("prefix").is_none_or(|prefix| prefix.ends_with("%2F"));
    if parameter("start-after").is_some() || !is_folder || parameter("delimiter").is_some_and(|sign| sign != "%2F") {
        return refuse("400 Bad Request", "InvalidRequest");
    }
    let left = parameter("continuation-token").and_then(|token| listings.lock().unwrap().left.remove(token));
    let (keys, next) = match left {
        Some(left) => left,
        None => {
            let listed = String::from_utf8(forward(server, &request).await).unwrap();
            if !listed.starts_with("HTTP/1.1 200 ") {
                return listed.into_bytes();
            }
            let mut keys = [elements(&listed, "Contents"), elements(&listed, "CommonPrefixes")].concat();
            listings.lock().unwrap().random.shuffle(&mut keys);
            (keys, element(&listed, "NextContinuationToken"))
        }
    };
    listings.lock().unwrap().page(keys, next)
}

impl Listings {
    /// The next page of a listing. It may be empty.
    fn page(&mut self, mut keys: Vec<String>, next: Option<String>) -> Vec<u8> {
        let count = [0, 1, 2, 7, 500][self.random.usize(0..5)];
        let left = keys.split_off(count.min(keys.len()));
        let token = if left.is_empty() {
            next
        } else {
            let token = format!("page{}", self.random.u64(..));
            self.left.insert(token.clone(), (left, next));
            Some(token)
        };
        let next = token.map(|token| format!("<NextContinuationToken>{token}</NextContinuationToken>"));
        xml(&format!("<ListBucketResult>{}{}</ListBucketResult>", keys.concat(), next.unwrap_or_default()))
    }
}

fn session() -> Vec<u8> {
    xml(&format!(
        "<CreateSessionResult><Credentials><SessionToken>{SESSION}</SessionToken>\
         <SecretAccessKey>{SECRET_KEY}</SecretAccessKey><AccessKeyId>{ACCESS_KEY}</AccessKeyId>\
         <Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>"
    ))
}

fn xml(body: &str) -> Vec<u8> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    answer("200 OK", &format!("Content-Type: application/xml\r\nDate: {date}\r\n"), body.as_bytes())
}

fn refuse(status: &str, code: &str) -> Vec<u8> {
    let body = format!("<Error><Code>{code}</Code><Message>not in a directory bucket</Message></Error>");
    answer(status, "Content-Type: application/xml\r\n", body.as_bytes())
}

/// The elements of this name, with their tags.
fn elements(text: &str, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    text.split_inclusive(&end).filter_map(|part| part.find(&begin).map(|at| part[at..].to_owned())).collect()
}

/// The text in the element of this name.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(text, _)| text.to_owned())
}
