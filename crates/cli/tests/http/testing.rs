//! The broker for users' tests: restarts, what it says if it doesn't start, its end.

use crate::broker::{RAWLINE, create_topic, pause};
use crate::client::*;
use rawline_testing::{Broker, BrokerError, Settings, Storage};
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

fn settings(storage: Storage, flags: &[&str]) -> Settings {
    let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    Settings { storage, flags, program: Some(RAWLINE.into()), ..Settings::default() }
}

fn address(broker: &Broker) -> SocketAddr {
    broker.url().strip_prefix("http://").unwrap().parse().unwrap()
}

fn append(broker: &Broker) {
    create_topic(address(broker), "t");
    let body = request("POST", "/records?topic-name=t", &[("content-type", RECORD)], b"one");
    exchange(address(broker), &body).assert_status(201);
}

fn read(broker: &Broker) -> String {
    exchange(address(broker), &request("GET", "/record?topic-name=t&offset=0", &[], b"")).text().to_owned()
}

#[test]
fn a_broker_for_a_test_restarts_on_its_storage() {
    let mut broker = Broker::with(settings(Storage::Directory, &[])).unwrap();
    let addresses = (broker.url().to_owned(), broker.kafka().to_owned());
    append(&broker);
    broker.kill().unwrap();
    assert!(matches!(broker.check(), Err(BrokerError::Stopped)));
    for _ in 0..2 {
        broker.restart().unwrap();
        assert_eq!((broker.url(), broker.kafka()), (&*addresses.0, &*addresses.1));
        assert_eq!(read(&broker), "one");
        TcpStream::connect(broker.kafka()).unwrap();
    }
    assert_eq!(broker.log().matches("rawline: stopped").count(), 1, "{}", broker.log());
    let directory = tempfile::tempdir().unwrap();
    let at = || Broker::with(settings(Storage::At(directory.path().join("data")), &[])).unwrap();
    append(&at());
    assert_eq!(read(&at()), "one");
    let mut in_memory = Broker::with(settings(Storage::Memory, &[])).unwrap();
    assert!(matches!(in_memory.restart(), Err(BrokerError::MemoryIsLost)));
}

#[test]
fn a_broker_for_a_test_says_why_it_does_not_run() {
    let wrong = Broker::with(settings(Storage::Memory, &["--memory", "1KiB"])).unwrap_err().to_string();
    assert!(wrong.contains("--memory must be at least"), "{wrong}");
    let nowhere = Settings { program: Some(PathBuf::from("/nowhere/rawline")), ..Settings::default() };
    assert!(matches!(Broker::with(nowhere), Err(BrokerError::Io(_))));
    let mut crashing = Broker::with(settings(Storage::Memory, &[])).unwrap();
    let pid = Pid::from_raw(crashing.pid().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let ended = loop {
        match crashing.check() {
            Ok(()) => pause(),
            Err(error) => break error.to_string(),
        }
    };
    assert!(ended.contains("signal: 9") && ended.contains("listening on http://"), "{ended}");
    let mut broker = Broker::with(settings(Storage::Memory, &[])).unwrap();
    let address = address(&broker);
    broker.check().unwrap();
    assert!(broker.log().contains("listening on http://"), "{}", broker.log());
    drop(broker);
    assert!(TcpStream::connect(address).is_err(), "it ends with its value");
}

#[test]
fn the_page_has_the_example_that_is_compiled() {
    let code = include_str!("../../../testing/src/lib.rs");
    let example = code.split("//! ```no_run\n").nth(1).unwrap().split("//! # Ok").next().unwrap();
    let example = example.replace("//! ", "").replace("//!", "");
    assert!(include_str!("../../../../docs/testing.md").contains(&format!("```rust\n{example}```")), "{example}");
}
