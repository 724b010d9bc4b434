//! The figures of `bench requests`: of each side its runs and their summary.

use super::load::Outcome;
use crate::history::{MainFigures, Measured};
use crate::statistics::{Latency, Spread, new_histogram};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Contents of `--json`.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Rawline first.
    pub sides: Vec<SideFigures>,
}

/// One server, or the bare loop.
#[derive(Debug, Serialize)]
pub struct SideFigures {
    /// `rawline`, `redis:PORT`, or `bare loop`.
    pub name: String,
    /// Version and settings.
    pub about: String,
    /// Every measured run.
    pub runs: Vec<RunFigures>,
    /// Requests per second.
    pub requests_per_second: Spread,
    /// Records per second.
    pub records_per_second: Spread,
    /// Time from the due time to the reply, of all runs; without a rate, a request is due when it is sent.
    pub latency_us: Latency,
    /// Time from the send to the reply, of all runs.
    pub service_us: Latency,
    /// How late the load program noticed that a request was due: its own part of `latency_us`.
    pub lag_us: Latency,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// CPU time of the load program per request, in microseconds.
    pub client_cpu_us_per_request: f64,
    /// CPU time of the server per request, in microseconds.
    pub server_cpu_us_per_request: Option<f64>,
    #[serde(skip)]
    response: Histogram<u64>,
    #[serde(skip)]
    service: Histogram<u64>,
    #[serde(skip)]
    lag: Histogram<u64>,
}

/// One measured run.
#[derive(Debug, Clone, Serialize)]
pub struct RunFigures {
    /// Length in seconds.
    pub seconds: f64,
    /// Requests that were acknowledged.
    pub requests: u64,
    /// Records in them.
    pub records: u64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// Records per second.
    pub records_per_second: f64,
    /// Time from the due time to the reply.
    pub latency_us: Latency,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// CPU seconds of the load program.
    pub client_cpu_seconds: f64,
    /// CPU seconds of the server.
    pub server_cpu_seconds: Option<f64>,
}

impl SideFigures {
    /// Without a run.
    pub fn new(name: &str, about: &str) -> SideFigures {
        let [response, service, lag] = std::array::from_fn(|_| new_histogram());
        SideFigures {
            name: name.to_owned(),
            about: about.to_owned(),
            runs: Vec::new(),
            requests_per_second: Spread::default(),
            records_per_second: Spread::default(),
            latency_us: Latency::default(),
            service_us: Latency::default(),
            lag_us: Latency::default(),
            unsent: 0,
            client_cpu_us_per_request: 0.0,
            server_cpu_us_per_request: None,
            response,
            service,
            lag,
        }
    }

    /// Adds a run, and prints its line.
    pub fn add(&mut self, outcome: &Outcome, records_per_request: u64, client_cpu: f64, server_cpu: Option<f64>) {
        let due = outcome.requests + outcome.unsent;
        assert_eq!(outcome.response.len(), due, "each request that was due has one latency");
        let (seconds, requests) = (outcome.length.as_secs_f64(), outcome.requests);
        let run = RunFigures {
            seconds,
            requests,
            records: requests * records_per_request,
            requests_per_second: requests as f64 / seconds,
            records_per_second: (requests * records_per_request) as f64 / seconds,
            latency_us: Latency::of(&outcome.response),
            unsent: outcome.unsent,
            client_cpu_seconds: client_cpu,
            server_cpu_seconds: server_cpu,
        };
        run.print(&self.name, self.runs.len() + 1);
        self.runs.push(run);
        self.response += &outcome.response;
        self.service += &outcome.service;
        self.lag += &outcome.lag;
        self.summarize();
    }

    fn summarize(&mut self) {
        let runs = || self.runs.iter();
        let per_request = |cpu_seconds: f64| cpu_seconds * 1e6 / runs().map(|run| run.requests).sum::<u64>() as f64;
        let client_cpu_us = per_request(runs().map(|run| run.client_cpu_seconds).sum());
        let server_cpu_us = runs().map(|run| run.server_cpu_seconds).sum::<Option<f64>>().map(per_request);
        let requests_per_second = Spread::of(runs().map(|run| run.requests_per_second));
        let records_per_second = Spread::of(runs().map(|run| run.records_per_second));
        self.unsent = runs().map(|run| run.unsent).sum();
        self.requests_per_second = requests_per_second.unwrap_or_default();
        self.records_per_second = records_per_second.unwrap_or_default();
        self.latency_us = Latency::of(&self.response);
        self.service_us = Latency::of(&self.service);
        self.lag_us = Latency::of(&self.lag);
        self.client_cpu_us_per_request = client_cpu_us;
        self.server_cpu_us_per_request = server_cpu_us;
    }
}

impl RunFigures {
    fn print(&self, name: &str, number: usize) {
        let mut line = format!(
            "run {number}  {name:<14} {:>9.0} requests/s  p50 {:.3} ms  p99 {:.3} ms",
            self.requests_per_second,
            self.latency_us.p50 / 1e3,
            self.latency_us.p99 / 1e3,
        );
        if self.unsent > 0 {
            line += &format!("  too slow for the rate: {} requests were due and not sent", self.unsent);
        }
        println!("{line}");
    }
}

impl Figures {
    /// Prints a line for each side.
    pub fn print(&self, has_rate: bool) {
        println!(
            "\n{:<16} {:>11} {:>11} {:>9} {:>9} {:>9} {:>9} {:>14} {:>14}",
            "", "requests/s", "records/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "CPU us/request", "load program's"
        );
        for side in &self.sides {
            let times = if has_rate { &side.latency_us } else { &side.service_us };
            let server_cpu = side.server_cpu_us_per_request.map_or("-".to_owned(), |us| format!("{us:.1}"));
            println!(
                "{:<16} {:>11.0} {:>11.0} {:>9.3} {:>9.3} {:>9.3} {:>9.1} {server_cpu:>14} {:>14.1}",
                side.name,
                side.requests_per_second.avg,
                side.records_per_second.avg,
                times.p50 / 1e3,
                times.p99 / 1e3,
                times.p999 / 1e3,
                times.max / 1e3,
                side.client_cpu_us_per_request,
            );
        }
        if has_rate {
            println!("\nTimes count from the due time. The load program's own part of them, and times from the send:");
            for side in &self.sides {
                println!("{}", side.name);
                side.lag_us.print("sent late by");
                side.service_us.print("from the send");
            }
        }
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        for (number, side) in self.sides.iter().enumerate() {
            // Those of the broker itself have the names that they have in other benchmarks.
            let prefix = if number == 0 { String::new() } else { format!("{} ", side.name) };
            figures.add(&format!("{prefix}requests_per_second"), side.requests_per_second.avg);
            figures.add(&format!("{prefix}records_per_second"), side.records_per_second.avg);
            side.latency_us.add_to(&mut figures, &prefix);
            side.service_us.add_to(&mut figures, &format!("{prefix}service_"));
            side.lag_us.add_to(&mut figures, &format!("{prefix}lag_"));
            figures.add(&format!("{prefix}unsent_requests"), side.unsent as f64);
            figures.add(&format!("{prefix}client_cpu_us_per_request"), side.client_cpu_us_per_request);
            figures.add_some(&format!("{prefix}server_cpu_us_per_request"), side.server_cpu_us_per_request);
        }
        figures
    }
}
