//! A real broker for tests: the `rawline` binary on a directory of its own and a free port.

#![allow(dead_code)] // Each test binary uses its own part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// A running broker; ends with the value.
pub struct Broker {
    process: Child,
    pub address: SocketAddr,
    directory: tempfile::TempDir,
    flags: Vec<String>,
}

impl Broker {
    pub fn start(flags: &[&str]) -> Broker {
        let directory = tempfile::tempdir().unwrap();
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let (process, address) = serve(directory.path(), "127.0.0.1:0", &flags);
        Broker { process, address, directory, flags }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was given as --storage.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// As a crash of the machine would, but for the page cache.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// On the same directory and port as before.
    pub fn start_again(&mut self) {
        (self.process, self.address) = serve(self.directory.path(), &self.address.to_string(), &self.flags);
    }

    /// `rawline` with these arguments, told where the broker is.
    pub fn rawline(&self, args: &[&str]) -> Command {
        rawline(&self.url(), args)
    }

    /// Runs it to its end with this input; fails the test if it fails.
    pub fn run(&self, args: &[&str], input: &[u8]) -> Output {
        let output = run(self.rawline(args), input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "rawline {args:?}: {}: {stderr}", output.status);
        output
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `rawline` with these arguments and nothing from the environment.
pub fn rawline(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(RAWLINE);
    command.args(args).env_clear().env("RAWLINE_BROKER", url);
    command
}

/// Runs a command to its end with this input.
pub fn run(mut command: Command, input: &[u8]) -> Output {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A command that needs no input ends without reading it.
            let _ = stdin.write_all(input);
        });
        process.wait_with_output().unwrap()
    })
}

fn serve(directory: &Path, listen: &str, flags: &Vec<String>) -> (Child, SocketAddr) {
    let mut process = Command::new(RAWLINE)
        .args(["serve", "--listen", listen, "--memory", "128MiB", "--storage"])
        .arg(directory)
        .args(flags)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut said = String::new();
    let address = loop {
        let start = said.len();
        assert!(stderr.read_line(&mut said).unwrap() > 0, "the broker ended: {said}");
        if let Some((_, address)) = said[start..].split_once("listening on http://") {
            break address.trim().parse().unwrap();
        }
    };
    // It must never block on a full pipe.
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    (process, address)
}
