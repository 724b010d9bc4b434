//! The dashboard and the alert rules in `deploy`: made from the table of metrics, and tried on a real broker with
//! Prometheus' linter, parser and engine (`tools/promcheck`).

mod alerts;
mod dashboard;

use crate::broker::{Broker, batch, records};
use crate::client::*;
use alerts::{ALERTS, runbook};
use rawline_batch::Codec;
use rawline_broker::metrics::families::ALL;
use rawline_testkit::server::program;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file)
}

/// What `promcheck` prints.
fn promcheck(args: &[&Path]) -> String {
    let program = program("bin/promcheck", "RAWLINE_PROMCHECK", "linter and engine of Prometheus (tools/promcheck)");
    let output = Command::new(program).args(args).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// A broker that has served a little of everything, and its `/metrics` in a file.
fn scraped() -> (tempfile::TempDir, PathBuf) {
    let broker = Broker::start(&["--kafka", "127.0.0.1:0"]);
    broker.post("/records?topic-name=t", BATCH, &batch(Codec::None, &records(0, 10, 50))).assert_status(201);
    broker.put("/group?group-name=g", r#"{"offsets":[{"topic":"t","partition":0,"offset":1}]}"#).assert_status(204);
    let kafka = broker.said.lines().find_map(|line| line.split_once("Kafka's clients on ")).unwrap().1.trim();
    // Heartbeat, version 0, of a member that the group doesn't have.
    let request = [0, 12, 0, 0, 0, 0, 0, 1, 255, 255, 0, 1, b'g', 0, 0, 0, 1, 0, 1, b'm'];
    let mut client = TcpStream::connect(kafka).unwrap();
    client.write_all(&[&[0, 0, 0, request.len() as u8], &request[..]].concat()).unwrap();
    client.read_exact(&mut [0; 10]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scrape");
    std::fs::write(&path, broker.get("/metrics").text()).unwrap();
    (folder, path)
}

#[test]
fn prometheus_linter_finds_nothing() {
    let (_folder, scrape) = scraped();
    assert_eq!(promcheck(&[Path::new("lint"), &scrape]), "");
}

#[test]
fn every_expression_reads_what_a_broker_serves() {
    let (_folder, scrape) = scraped();
    let problems = promcheck(&[Path::new("queries"), &scrape, &deploy("alerts.yaml"), &deploy("grafana.json")]);
    assert_eq!(problems, "");
    let text = std::fs::read_to_string(&scrape).unwrap();
    let renamed = scrape.with_extension("renamed");
    std::fs::write(&renamed, text.replace("rawline_group_members", "rawline_group_people")).unwrap();
    let problems = promcheck(&[Path::new("queries"), &renamed, &deploy("alerts.yaml"), &deploy("grafana.json")]);
    assert!(problems.contains("rule RawlineGroupStopped: no metric rawline_group_members\n"), "{problems}");
}

/// `make monitoring` writes them.
#[test]
fn the_files_are_those_that_the_table_makes() {
    for (file, made) in [("alerts.yaml", alerts::file()), ("grafana.json", dashboard::file())] {
        if std::env::var_os("RAWLINE_WRITE").is_some() {
            std::fs::write(deploy(file), &made).unwrap();
        }
        let is = std::fs::read_to_string(deploy(file)).unwrap_or_default();
        assert!(is == made, "deploy/{file} differs from the table of metrics: run make monitoring");
    }
    let dashboard = dashboard::file();
    for family in ALL {
        assert!(dashboard.contains(family.name), "{} is on no panel", family.name);
    }
}

#[test]
fn every_alert_has_a_runbook() {
    let page = include_str!("../../../../../docs/operating.md");
    let (_, section) = page.split_once("\n### Alerts\n").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    let described: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("#### ")).collect();
    assert_eq!(described, ALERTS.map(|alert| alert.name));
    for entry in section.split("\n#### ").skip(1) {
        assert!(entry.contains("**First:**"), "{entry}");
    }
    assert_eq!(runbook("RawlineDown"), "docs/operating.md#rawlinedown");
}

/// The scrapes of a broker, as of times that the test chooses: rules wait for minutes.
struct Scrapes<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    at: u64,
}

impl Scrapes<'_> {
    /// Some scrapes, a minute apart.
    fn minutes(&mut self, count: u64) {
        for _ in 0..count {
            let path = self.folder.path().join(format!("{}.prom", self.at));
            std::fs::write(path, self.broker.get("/metrics").text()).unwrap();
            self.at += 60;
        }
    }

    /// The alerts that fire at some time.
    fn alerts(&self) -> BTreeSet<String> {
        let fired = promcheck(&[Path::new("alerts"), &deploy("alerts.yaml"), self.folder.path()]);
        fired.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
    }
}

#[test]
fn an_alert_fires_when_a_consumer_stops_and_not_before() {
    let broker = Broker::start(&[]);
    let append = || {
        broker.post("/records?topic-name=t", BATCH, &batch(Codec::None, &records(0, 10, 50))).assert_status(201);
    };
    append();
    broker.put("/group?group-name=g", r#"{"offsets":[{"topic":"t","partition":0,"offset":0}]}"#).assert_status(204);
    let arguments = ["consume", "t", "--group", "g", "--follow"];
    let mut consumer = broker.rawline(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A consumer commits every five seconds.
    let wait = |members: u64, lag: u64| {
        let expected = [
            format!("rawline_group_members{{group=\"g\"}} {members}"),
            format!("rawline_group_lag_records{{group=\"g\"}} {lag}"),
        ];
        let has_all = |text: &str| expected.iter().all(|series| text.lines().any(|line| line == series));
        let until = Instant::now() + Duration::from_secs(60);
        while !has_all(broker.get("/metrics").text()) {
            assert!(Instant::now() < until, "never {expected:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    wait(1, 0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut scrapes = Scrapes { broker: &broker, folder: tempfile::tempdir().unwrap(), at: now - 20 * 60 };
    scrapes.minutes(20);
    assert_eq!(scrapes.alerts(), BTreeSet::new(), "while it consumes");
    let process = rustix::process::Pid::from_raw(consumer.id().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    consumer.wait().unwrap();
    append();
    wait(0, 10);
    scrapes.minutes(6);
    assert_eq!(scrapes.alerts(), BTreeSet::from(["RawlineGroupStopped".to_owned()]));
}
