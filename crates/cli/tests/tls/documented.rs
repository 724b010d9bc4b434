//! Runs the commands of `docs/tls.md`, with OpenSSL and curl, as a reader would.

use crate::support::RAWLINE;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;

/// The brokers that a page starts, which would not end.
#[derive(Default)]
struct Brokers(Mutex<Vec<Child>>);

impl Drop for Brokers {
    fn drop(&mut self) {
        for broker in self.0.get_mut().unwrap() {
            let _ = broker.kill();
            let _ = broker.wait();
        }
    }
}

fn shell(folder: &Path, script: &str) -> Command {
    let path = format!("{}:{}", Path::new(RAWLINE).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(folder).env("PATH", path);
    command
}

#[test]
fn the_commands_of_the_page_about_tls_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tls.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 6, "{} blocks of commands", blocks.len());
    let folder = tempfile::tempdir().unwrap();
    let brokers = Brokers::default();
    // Free ports instead of those that the page uses.
    let ports = [51313, 51314, 9093].map(|port: u16| {
        (port.to_string(), std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string())
    });
    for block in blocks {
        let script = ports.iter().fold(block.to_owned(), |text, (port, free)| text.replace(port, free));
        if script.contains("rawline serve") {
            let mut broker = shell(folder.path(), &format!("exec {}", script.trim()));
            // Of a command without an address.
            broker.env("RAWLINE_LISTEN", format!("127.0.0.1:{}", ports[0].1));
            brokers.0.lock().unwrap().push(broker.spawn().unwrap());
            continue;
        }
        // A broker that was just started may not listen yet; the page's reader has waited for its line.
        let mut output = shell(folder.path(), &script).output().unwrap();
        for _ in 0..1000 {
            if output.status.success() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            output = shell(folder.path(), &script).output().unwrap();
        }
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
