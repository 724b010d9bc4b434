//! `rawline serve`: settings with which it refuses to start, when it listens, and its profiles.

use crate::broker::{Broker, RAWLINE, command, create_topic, pause};
use crate::client::*;
use rawline_testkit::process;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a broker that must not start; returns its exit code and its output.
fn refused(flags: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    let output = command(flags).arg("--storage").arg(directory.path().join("data")).output().unwrap();
    assert!(!directory.path().join("data").exists(), "nothing is created before the settings are checked");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn access_without_keys_is_for_loopback_only() {
    for listen in [["--listen", "0.0.0.0:0"], ["--listen", "[::]:0"], ["--kafka", "0.0.0.0:0"]] {
        let (code, said) = refused(&listen);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("--api-key") && said.contains("--insecure"), "{said}");
    }
    for flags in [&["--insecure"][..], &["--api-key", "secret"]] {
        let broker = Broker::start(&[&["--listen", "0.0.0.0:0", "--kafka", "0.0.0.0:0"][..], flags].concat()[..]);
        let address: SocketAddr = ([127, 0, 0, 1], broker.address.port()).into();
        exchange(address, &request("GET", "/health", &[], b"")).assert_status(200);
    }
}

#[test]
fn wrong_settings_are_refused_with_advice() {
    for (flags, word) in [
        (&["--memory", "1MiB"][..], "--batch-bytes-max"),
        (&["--batch-bytes-max", "1GiB"], "128MiB"),
        (&["--api-key", ""], "--api-key"),
        (&["--listen", "nowhere"], "--listen"),
        (&["--batch-wait", "5"], "--batch-wait"),
        (&["--debug-listen", "0.0.0.0:0"], "--insecure"),
        (&["--debug-listen", "0.0.0.0:0", "--api-key", "secret"], "--insecure"),
    ] {
        let (code, said) = refused(flags);
        assert_eq!(code, Some(2), "{flags:?}: {said}");
        assert!(said.contains(word), "{flags:?}: {said}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, said) = refused(&["--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--listen"), "{said}");
}

/// The content of `--ready-file`, once it exists.
fn read_ready(path: &Path, broker: &mut std::process::Child) -> serde_json::Value {
    while !path.exists() {
        assert!(broker.try_wait().unwrap().is_none(), "the broker ended without {}", path.display());
        pause();
    }
    // It is written at once: what exists is complete.
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_ready_broker_says_where_it_listens() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ready.json");
    fs::write(&path, "of an earlier broker").unwrap();
    let free = "127.0.0.1:0";
    let flags = ["--storage", "memory:", "--listen", free, "--kafka", free, "--stop-with-stdin", "--ready-file"];
    let mut broker = command(&flags).arg(&path).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    while fs::read(&path).is_ok_and(|text| text == b"of an earlier broker") {
        pause();
    }
    let ready = read_ready(&path, &mut broker);
    assert_eq!(ready["pid"], broker.id());
    let address: SocketAddr = ready["url"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
    exchange(address, &request("GET", "/health", &[], b"")).assert_status(200);
    TcpStream::connect(ready["kafka"].as_str().unwrap()).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing but the file remains");
    // The end of stdin stops it as a signal does.
    drop(broker.stdin.take());
    assert!(broker.wait().unwrap().success());
    assert!(!path.exists(), "the file names a broker that has stopped");
}

#[test]
fn a_ready_file_that_cannot_be_written_ends_the_broker() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nowhere/ready.json");
    let flags = ["--storage", "memory:", "--listen", "127.0.0.1:0", "--ready-file"];
    let output = command(&flags).arg(&path).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nowhere/ready.json") && said.contains("--ready-file"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// Opens a named pipe for writing once another process reads it.
fn open_pipe(path: &Path, has_failed: impl Fn() -> bool) -> File {
    loop {
        match OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path) {
            Ok(pipe) => return pipe,
            Err(error) => assert_eq!(error.raw_os_error(), Some(Errno::NXIO.raw_os_error()), "{error}"),
        }
        assert!(!has_failed(), "the pipe wasn't read");
        pause();
    }
}

/// Defect 27. A client that connects too early would wait for its response, and a health check would pass.
#[test]
fn connections_are_refused_until_topics_are_recovered() {
    let mut broker = process::Broker::start(RAWLINE, &[]);
    let address = broker.address;
    create_topic(address, "t");
    let append = request("POST", "/records?topic-name=t", &[("content-type", RECORD)], b"one");
    exchange(address, &append).assert_status(201);
    broker.kill();
    // A pipe stops the recovery here until something is written to it.
    let file = broker.directory().join("storage.json");
    let storage = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let connected = std::thread::scope(|scope| {
        let started = scope.spawn(|| broker.start_again());
        let mut pipe = open_pipe(&file, || started.is_finished());
        let connected = TcpStream::connect(address);
        pipe.write_all(&storage).unwrap();
        connected
    });
    assert_eq!(connected.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(exchange(address, &request("GET", "/record?topic-name=t&offset=0", &[], b"")).text(), "one");
}

/// The address of the profiles, as reported by the broker.
fn debug_address(broker: &Broker) -> SocketAddr {
    let (_, address) = broker.said.split_once("profiles on http://").expect("no address of profiles");
    address.split('/').next().unwrap().parse().unwrap()
}

#[test]
fn profiles_can_be_taken_while_the_broker_runs() {
    let broker = Broker::start(&["--debug-listen", "127.0.0.1:0"]);
    let debug = debug_address(&broker);
    let get = |target: &str| exchange(debug, &request("GET", target, &[], b""));
    for wrong in ["0", "-1", "301", "x", ""] {
        get(&format!("/debug/pprof/profile?seconds={wrong}")).assert_status(400);
    }
    assert!(get("/").text().contains("/debug/pprof/profile"));
    get("/debug/pprof/nothing").assert_status(404);

    let busy = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while busy.load(std::sync::atomic::Ordering::Relaxed) {
                broker.post("/records?topic-name=t", RECORD, &vec![b'x'; 1 << 20]).assert_status(201);
            }
        });
        let profile = get("/debug/pprof/profile?seconds=1");
        let graph = get("/debug/pprof/flamegraph?seconds=1");
        busy.store(false, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(profile.assert_status(200).header("content-type"), Some("application/octet-stream"));
        let strings = profile_strings(&profile.body);
        assert!(
            strings.iter().any(|name| name.contains("rawline")),
            "no function of ours in {} strings",
            strings.len()
        );
        assert_eq!(graph.assert_status(200).header("content-type"), Some("image/svg+xml"));
        assert!(graph.text().starts_with("<?xml") && graph.text().contains("<svg") && graph.text().contains("</svg>"));
    });
    // The API's address doesn't serve profiles.
    broker.get("/debug/pprof/profile").assert_status(404);
}

/// The string table of a profile in pprof's format, which begins with an empty string.
fn profile_strings(mut bytes: &[u8]) -> Vec<String> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let mut byte = [0];
            bytes.read_exact(&mut byte).unwrap();
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut strings = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        match tag & 7 {
            0 => drop(number(&mut bytes)),
            2 => {
                let length = number(&mut bytes) as usize;
                let (field, rest) = bytes.split_at(length);
                if tag >> 3 == 6 {
                    strings.push(String::from_utf8(field.to_vec()).unwrap());
                }
                bytes = rest;
            }
            kind => panic!("a profile has no fields of kind {kind}"),
        }
    }
    assert_eq!(strings.first().map(String::as_str), Some(""));
    strings
}

/// Each line of the log is an object, and what a thousand clients do wrong is logged once, with their number.
#[test]
fn a_log_as_json_repeats_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--log-format", "json", "--listen", "127.0.0.1:0", "--storage"];
    let mut broker = command(&flags).arg(folder.path().join("data")).spawn().unwrap();
    let mut lines = BufReader::new(broker.stderr.take().unwrap()).lines();
    let mut said: Vec<serde_json::Value> = Vec::new();
    let mut next = || {
        let line = lines.next()?.unwrap();
        Some(serde_json::from_str::<serde_json::Value>(&line).unwrap_or_else(|error| panic!("{line}: {error}")))
    };
    let address: SocketAddr = loop {
        let line = next().unwrap();
        let message = line["message"].as_str().unwrap();
        if let Some(address) = message.strip_prefix("listening on http://") {
            break address.parse().unwrap();
        }
    };
    for _ in 0..3 {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(&[22, 3, 1, 0, 1, 1, 0, 0, 0, 0, 0]).unwrap();
        // The broker closes it once the line is logged, or was left out.
        let _ = client.read_to_end(&mut Vec::new());
    }
    let process = rustix::process::Pid::from_raw(broker.id().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    while let Some(line) = next() {
        said.push(line);
    }
    assert!(broker.wait().unwrap().success());
    let handshakes = said.iter().filter(|line| line["level"] == "warn").collect::<Vec<_>>();
    let [handshake] = handshakes[..] else { panic!("{said:?}") };
    assert!(handshake["message"].as_str().unwrap().contains("tls-cert"), "{handshake}");
    assert!(handshake["time"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{handshake}");
    assert!(handshake["address"].as_str().unwrap().contains("127.0.0.1"), "{handshake}");
    let left_out = said.iter().filter(|line| line["message"].as_str().unwrap().starts_with("left out 2 repetitions"));
    assert_eq!(left_out.count(), 1, "{said:?}");
    assert_eq!(said.last().unwrap()["message"], "stopped");
}
