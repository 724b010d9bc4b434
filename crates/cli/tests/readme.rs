//! Runs the commands of the README, of `docs/start.md`, which continues it, of `docs/command-line.md`, of
//! `docs/backup.md` and of tutorials, as a reader would.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The shell blocks of a page, in order.
fn shell_blocks(page: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

struct Broker {
    process: Child,
    url: String,
}

impl Broker {
    fn start(storage: &Path) -> Broker {
        let mut process = Command::new(env!("CARGO_BIN_EXE_rawline"))
            .args(["serve", "--listen", "127.0.0.1:0", "--storage"])
            .arg(storage)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listening on ").map(|(_, url)| url.to_owned()))
            .expect("the broker says where it listens");
        // The pipe must be drained, because the broker would block when it is full.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Broker { process, url }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // As abruptly as the README allows.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(script: &str, folder: &Path, broker: &Broker) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_rawline")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("RAWLINE_BROKER", &broker.url)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_quick_start_works_by_copy_and_paste() {
    let readme = shell_blocks("README.md");
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    // The first block starts the broker and doesn't end; here the test starts it.
    assert_eq!(readme[0].trim(), "make run");
    assert!(makefile.contains("\nrun: "));
    let start = shell_blocks("docs/start.md");
    assert!(readme.len() >= 3 && start.len() >= 4, "too few commands: {} and {}", readme.len(), start.len());

    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("data");
    let broker = Broker::start(&storage);
    let readme: Vec<_> = readme[1..].iter().map(|block| run(block, folder.path(), &broker)).collect();
    assert!(readme[0].contains("the same bytes"), "{}", readme[0]);
    assert!(readme[1].contains(r#""record":"one""#) && readme[1].contains(r#""record":"two""#), "{}", readme[1]);

    // Commands that need `make full` are run only in that build.
    let is_built = |block: &&String| cfg!(feature = "full") || !block.contains("--format avro");
    let start: Vec<_> = start.iter().filter(is_built).map(|block| run(block, folder.path(), &broker)).collect();
    assert!(start[0].contains("events") && start[0].contains("\"user\": 7"), "{}", start[0]);
    assert!(start[1].contains(r#""name":"hello""#), "{}", start[1]);
    assert!(start[2].contains("10.0.0.1") && start[2].contains("53/udp"), "{}", start[2]);
    if cfg!(feature = "full") {
        let measured = start.iter().find(|output| output.contains("sgp-1")).expect("the page measures something");
        assert!(
            measured.contains("sgp-2") && measured.contains("2025-11-20 00:00") && !measured.contains("ams-3"),
            "{measured}"
        );
        let plot = std::fs::read_to_string(folder.path().join("cpu.svg")).unwrap();
        assert!(plot.contains("ams-3"), "the plot lacks a line");
    }

    drop(broker);
    let broker = Broker::start(&storage);
    let again =
        run("rawline consume events > again.txt; cmp events.txt again.txt && echo same", folder.path(), &broker);
    assert_eq!(again, "same\n");
}

#[test]
fn the_page_about_the_command_line_works_by_copy_and_paste() {
    let blocks = shell_blocks("docs/command-line.md");
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&folder.path().join("data"));
    // The profiles are those of the folder.
    let home = format!("export XDG_CONFIG_HOME='{}'\n", folder.path().display());
    let outputs: Vec<String> =
        blocks.iter().map(|block| run(&format!("{home}{block}"), folder.path(), &broker)).collect();
    assert!(outputs.len() >= 6, "too few commands: {}", outputs.len());
    let [profiles, reading, lists, top, scripts, other] = outputs.first_chunk().unwrap();
    assert!(profiles.contains("here *") && !profiles.contains("not-a-real-key"), "{profiles}");
    let hundred: String = (1..=100).map(|number| format!("{number}\n")).collect();
    assert_eq!(*reading, "98\n99\n100\n".repeat(3) + &hundred);
    assert!(lists.contains("\"name\": \"numbers\"") && lists.contains("next offset    100"), "{lists}");
    assert!(top.contains("by rate") && top.contains("numbers"), "{top}");
    assert!(scripts.contains("first offset   50") && scripts.contains("\n91\n92\n"), "{scripts}");
    assert!(other.contains("man1/rawline.1") && other.contains("(commit "), "{other}");
}

/// The outputs of a page's blocks, in a folder with a new broker.
fn outputs(page: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&folder.path().join("data"));
    shell_blocks(page).iter().map(|block| run(block, folder.path(), &broker)).collect()
}

#[test]
fn the_tutorial_for_backend_developers_works_by_copy_and_paste() {
    let outputs = outputs("docs/start/backend.md");
    let [append, http, process, second, wait] = outputs.first_chunk().unwrap();
    assert!(append.contains("records        9"), "{append}");
    assert!(http.contains("first_offset") && http.contains("customer-"), "{http}");
    assert!(process.contains("lag       8") && process.ends_with("\n10\n"), "{process}");
    assert!(second.starts_with("10\n") && second.contains("statistics"), "{second}");
    assert_eq!(wait, "{\"order\": 11, \"amount\": 5}\n");
}

#[test]
fn the_tutorial_for_operators_works_by_copy_and_paste() {
    let outputs = outputs("docs/start/operator.md");
    let [keys, what, retention, backup] = outputs.first_chunk().unwrap();
    assert!(keys.contains("monitoring  -       -       -      -        -          yes"), "{keys}");
    let lag = "rawline_group_lag_records{group=\"billing\"} 3800";
    assert!(what.contains("3800") && what.contains(lag), "{what}");
    assert!(retention.contains("retain hours   72"), "{retention}");
    assert!(backup.contains("every checksum matches"), "{backup}");
}

#[test]
fn the_tutorial_about_a_wire_format_works_by_copy_and_paste() {
    let blocks = shell_blocks("docs/start/wire-format.md");
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&folder.path().join("data"));
    // The others are run by `make test-lab`.
    let is_built = |block: &&String| cfg!(feature = "lab") || !block.contains("rawline lab");
    let outputs: Vec<String> = blocks.iter().filter(is_built).map(|block| run(block, folder.path(), &broker)).collect();
    let consumed = outputs.last().unwrap();
    assert!(consumed.contains("10.0.1.13") && consumed.contains("customer-7"), "{consumed}");
    if cfg!(feature = "lab") {
        let [_, table, typed, _] = outputs.first_chunk().unwrap();
        assert!(table.contains("I would choose") && table.contains("--as client=address"), "{table}");
        assert!(table.contains("MessagePack, array") && !table.contains("without figures"), "{table}");
        assert!(typed.contains("rawline-value, typed"), "{typed}");
        let page = std::fs::read_to_string(folder.path().join("orders.html")).unwrap();
        assert!(page.contains("I would choose") && page.contains("message Message {"));
    }
}

#[test]
fn the_page_about_backups_works_by_copy_and_paste() {
    let blocks = shell_blocks("docs/backup.md");
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&folder.path().join("data"));
    let outputs: Vec<String> = blocks.iter().map(|block| run(block, folder.path(), &broker)).collect();
    let [backup, restore, check] = outputs.first_chunk().unwrap();
    assert!(backup.matches("copied into 1 object").count() == 2 && backup.lines().count() == 4, "{backup}");
    assert!(restore.contains("every checksum matches"), "{restore}");
    assert!(check.contains("a broker runs on it"), "{check}");
    let checks = std::fs::read_to_string(folder.path().join("checks.json")).unwrap();
    assert!(checks.contains("a backup of"), "{checks}");
}

#[test]
fn the_page_about_kafka_shows_keys_as_they_are() {
    let page = std::fs::read_to_string(root().join("docs/kafka.md")).unwrap();
    let (_, section) = page.split_once("## Keys in our clients").unwrap();
    let (block, _) = section.split_once("```console\n").unwrap().1.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&folder.path().join("data"));
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let output = run(&commands.join("\n"), folder.path(), &broker);
    let records = |text: &str| -> Vec<serde_json::Value> {
        let records = text.lines().filter(|line| line.starts_with('{'));
        let without_time = |mut record: serde_json::Value| {
            assert!(record.as_object_mut().unwrap().remove("time").is_some());
            record
        };
        records.map(|line| without_time(serde_json::from_str(line).unwrap())).collect()
    };
    assert_eq!(records(block).len(), 2);
    assert_eq!(records(&output), records(block));
}
