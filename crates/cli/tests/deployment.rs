//! The files for containers: a real broker starts with every command line in them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Tests.

mod support;

use rawline_testkit::process::{Broker, serve_command};
use rawline_testkit::s3_server::{Bucket, bucket};
use rcgen::{CertificateParams, KeyPair};
use std::path::{Path, PathBuf};
use support::RAWLINE;

/// The values that Kubernetes substitutes for variables.
const VARIABLES: [(&str, &str); 2] = [("$(POD_NAME)", "rawline-0"), ("$(POD_NAMESPACE)", "default")];

/// A file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The arguments after `rawline serve` of every list that begins with these words. Lists are JSON in all files.
fn command_lines(text: &str, start: &str) -> Vec<Vec<String>> {
    let lists = text.match_indices(start).map(|(at, _)| {
        let list = &text[at + start.len() - 1..];
        let end = list.find(']').unwrap_or_else(|| panic!("a list without an end: {list}"));
        let list = list[..=end].replace('\n', " ");
        serde_json::from_str::<Vec<String>>(&list).unwrap_or_else(|error| panic!("{list}: {error}"))
    });
    let serving = lists.filter(|list| list.first().is_some_and(|command| command == "serve"));
    serving.map(|list| list[1..].to_vec()).collect()
}

/// Replacements for paths in the container.
struct Places {
    folder: tempfile::TempDir,
    storage: String,
}

impl Places {
    fn new(bucket: &Bucket) -> Places {
        let folder = tempfile::tempdir().unwrap();
        let pair = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
        std::fs::write(folder.path().join("cert"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("key"), pair.serialize_pem()).unwrap();
        let places = Places { folder, storage: format!("s3://{}/events", bucket.name) };
        let keys = places.path("keys");
        let keys = ["key", "add", "me", "--all", "--keys", keys.to_str().unwrap()];
        assert!(support::rawline("", &keys).output().unwrap().status.success());
        places
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The value of a flag on this machine: addresses and files are replaced, all other flags are unchanged.
    fn value(&self, flag: &str, value: &str) -> String {
        let path = |name: &str| self.path(name).to_str().unwrap().to_owned();
        match flag {
            "--listen" | "--kafka" => "127.0.0.1:0".to_owned(),
            "--storage" if value.starts_with("s3://") => self.storage.clone(),
            "--storage" => path("storage"),
            "--cache-dir" => path("cache"),
            "--keys" => path("keys"),
            "--tls-cert" => path("cert"),
            "--tls-key" => path("key"),
            _ => VARIABLES.iter().fold(value.to_owned(), |value, (name, by)| value.replace(name, by)),
        }
    }

    /// Starts a broker with these flags, each followed by its value.
    fn start(&self, line: &[String], bucket: &Bucket) -> Broker {
        let mut flags = Vec::new();
        for pair in line.chunks(2) {
            let [flag, value] = pair else { panic!("a flag without a value in {line:?}") };
            flags.extend([flag.clone(), self.value(flag, value)]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Broker::start_with(RAWLINE, &flags, bucket.variables())
    }
}

#[tokio::test]
async fn a_broker_starts_with_every_command_line_of_the_files_for_containers() {
    for (file, start, count) in
        [("Dockerfile", "CMD [", 1), ("compose.yaml", "command: [", 3), ("deploy/kubernetes.yaml", "args: [", 1)]
    {
        let lines = command_lines(&text(file), start);
        assert_eq!(lines.len(), count, "{file}");
        for line in lines {
            let bucket = bucket().await;
            let broker = Places::new(&bucket).start(&line, &bucket);
            let scheme = if line.iter().any(|flag| flag == "--tls-cert") { "https" } else { "http" };
            assert!(broker.url().starts_with(&format!("{scheme}://")), "{file}: {line:?}");
            // The others reach it.
            assert!(!broker.printed.contains("can't reach this one"), "{file}: {}", broker.printed);
            let advertised = line.iter().position(|flag| flag == "--advertise").map(|flag| &line[flag + 1]);
            if let Some(advertised) = advertised {
                let url = VARIABLES.iter().fold(advertised.clone(), |url, (name, by)| url.replace(name, by));
                let card = std::fs::read_dir(bucket.file("events/.brokers")).unwrap().next().unwrap().unwrap();
                let card = std::fs::read_to_string(card.path()).unwrap();
                assert!(card.contains(&format!("\"url\":\"{url}\"")), "{url}: {card}");
            }
        }
    }
}

/// So the test above would find a flag that the broker doesn't know.
#[test]
fn an_unknown_flag_is_found() {
    let line = command_lines("x\ncommand: [\"serve\",\n  \"--unknown\", \"1\"]\n", "command: [").remove(0);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    assert_eq!(line, ["--unknown", "1"]);
    assert_eq!(serve_command(RAWLINE, &line).output().unwrap().status.code(), Some(2));
    assert!(command_lines("command: [\"posix\", \"/data\"]", "command: [").is_empty());
}
