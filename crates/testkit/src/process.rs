//! The real binary as a broker, on its own directory and a free port, and as a command.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A running broker; ends with the value.
pub struct Broker {
    program: String,
    process: Child,
    pub address: SocketAddr,
    /// `http` or `https`.
    scheme: String,
    /// Its output on stderr before it listened.
    pub printed: String,
    /// Its output since.
    log: Arc<Mutex<String>>,
    directory: tempfile::TempDir,
    flags: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Broker {
    /// Starts `program serve` on a new directory. `flags` replace the defaults for tests.
    pub fn start(program: &str, flags: &[&str]) -> Broker {
        Broker::start_with(program, flags, Vec::new())
    }

    /// The same with variables in its environment, such as those that lead to a bucket in `--storage`.
    pub fn start_with(program: &str, flags: &[&str], variables: Vec<(String, String)>) -> Broker {
        let directory = tempfile::tempdir().unwrap();
        let defaults = [["--memory", "128MiB"], ["--durability", "page-cache"]];
        let defaults = defaults.iter().filter(|[name, _]| !flags.contains(name)).flatten().copied();
        let flags: Vec<String> = defaults.chain(flags.iter().copied()).map(str::to_owned).collect();
        let Started { process, scheme, address, printed, log } =
            serve(program, directory.path(), "127.0.0.1:0", &flags, &variables);
        Broker { program: program.to_owned(), process, address, scheme, printed, log, directory, flags, variables }
    }

    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Waits until it has printed this after it began to listen. Returns the line.
    pub fn wait_for_log(&self, words: &str) -> String {
        loop {
            let log = self.log.lock().unwrap();
            if let Some(line) = log.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            drop(log);
            pause();
        }
    }

    /// The value of its --storage.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// As a crash of the machine would, but for the page cache.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it on the same directory and port as before.
    pub fn start_again(&mut self) {
        let listen = self.address.to_string();
        let started = serve(&self.program, self.directory.path(), &listen, &self.flags, &self.variables);
        let Started { process, scheme, address, printed, log } = started;
        (self.process, self.scheme, self.address, self.printed, self.log) = (process, scheme, address, printed, log);
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// `rawline` with these arguments, and this broker's address.
    pub fn rawline(&self, args: &[&str]) -> Command {
        rawline(&self.program, &self.url(), args)
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
pub fn rawline(program: &str, url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("RAWLINE_BROKER", url);
    command
}

/// `rawline serve` with these flags and nothing from the environment.
pub fn serve_command(program: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("serve").args(flags).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
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

/// Lets some time pass between two looks at something that will come.
#[allow(clippy::disallowed_methods)] // No other task of this thread is stalled.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}

/// A process that listens.
struct Started {
    process: Child,
    scheme: String,
    address: SocketAddr,
    printed: String,
    log: Arc<Mutex<String>>,
}

fn serve(program: &str, directory: &Path, listen: &str, flags: &[String], variables: &[(String, String)]) -> Started {
    let mut command = serve_command(program, &[]);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    if !flags.iter().any(|flag| flag == "--storage") {
        command.arg("--storage").arg(directory);
    }
    if !flags.iter().any(|flag| flag == "--listen") {
        command.args(["--listen", listen]);
    }
    let mut process = command.args(flags).spawn().unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut printed = String::new();
    let (scheme, address) = loop {
        let start = printed.len();
        assert!(stderr.read_line(&mut printed).unwrap() > 0, "the broker ended: {printed}");
        let url = printed[start..].split_once("listening on ").and_then(|(_, url)| url.trim().split_once("://"));
        if let Some((scheme, address)) = url {
            break (scheme.to_owned(), address.parse().unwrap());
        }
    };
    // It must never block on a full pipe.
    let log = Arc::new(Mutex::new(String::new()));
    let printing = log.clone();
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let mut log = printing.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
    Started { process, scheme, address, printed, log }
}
