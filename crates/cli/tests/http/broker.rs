//! Brokers for tests: the real binary on a new directory, or a broker in this process if a test needs its internals.

use crate::client::{Answer, exchange, request};
use rawline_server::http::HttpConfig;
pub use rawline_testkit::batches::{batch, records, records_of};
use rawline_testkit::process;
pub use rawline_testkit::process::pause;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// The real binary; ends when the value is dropped.
pub struct Broker {
    process: process::Broker,
    pub address: SocketAddr,
    /// Its output on stderr before it listened.
    pub said: String,
}

impl Broker {
    pub fn start(flags: &[&str]) -> Broker {
        let process = process::Broker::start(RAWLINE, flags);
        Broker { address: process.address, said: process.printed.clone(), process }
    }

    pub fn get(&self, target: &str) -> Answer {
        exchange(self.address, &request("GET", target, &[], b""))
    }

    pub fn get_as(&self, target: &str, accept: &str) -> Answer {
        exchange(self.address, &request("GET", target, &[("accept", accept)], b""))
    }

    pub fn post(&self, target: &str, content_type: &str, body: &[u8]) -> Answer {
        exchange(self.address, &request("POST", target, &[("content-type", content_type)], body))
    }

    /// Creates an empty topic.
    pub fn create_topic(&self, name: &str) {
        create_topic(self.address, name);
    }

    pub fn put(&self, target: &str, body: &str) -> Answer {
        exchange(self.address, &request("PUT", target, &[], body.as_bytes()))
    }

    /// Kills it and starts it again on the same directory.
    pub fn kill_and_restart(&mut self) {
        self.process.kill();
        self.process.start_again();
    }

    /// `rawline` with these arguments.
    pub fn rawline(&self, args: &[&str]) -> Command {
        self.process.rawline(args)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let process = rustix::process::Pid::from_raw(self.process.pid().cast_signed()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }
}

/// Creates an empty topic.
pub fn create_topic(address: SocketAddr, name: &str) {
    let head = format!("PUT /topic?topic-name={name} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 19\r\n\r\n");
    exchange(address, format!("{head}{{\"payload\":\"bytes\"}}").as_bytes()).assert_status(200);
}

/// `rawline serve` with these flags and nothing from the environment.
pub fn command(flags: &[&str]) -> Command {
    process::serve_command(RAWLINE, flags)
}

/// A broker in this process, on memory.
pub struct InProcess {
    served: Served,
    _runtime: tokio::runtime::Runtime,
}

impl InProcess {
    pub fn start(config: HttpConfig, pool_bytes: u64) -> InProcess {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let served = runtime.block_on(Served::on(in_memory(), config, pool_bytes as usize));
        InProcess { served, _runtime: runtime }
    }
}

impl std::ops::Deref for InProcess {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}
