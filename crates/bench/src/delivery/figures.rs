//! The figures of `bench delivery`: of each way to wait its runs and their summary.

use super::load::Outcome;
use crate::history::{MainFigures, Measured};
use crate::statistics::{Latency, Spread, new_histogram};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Contents of `--json`.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Those of the broker first.
    pub sides: Vec<SideFigures>,
}

/// One server and one way to wait.
#[derive(Debug, Serialize)]
pub struct SideFigures {
    /// `long poll`, or `redis:PORT XREAD BLOCK`.
    pub name: String,
    /// Version and settings of the server.
    pub about: String,
    /// Every measured run.
    pub runs: Vec<RunFigures>,
    /// Records per second.
    pub records_per_second: Spread,
    /// From the due time of an append until its reader has the record, of all runs.
    pub delivery_us: Latency,
    /// From the send of the append, of all runs.
    pub from_send_us: Latency,
    /// From the send of an append to its acknowledgement, of all runs.
    pub append_us: Latency,
    /// How late the load program noticed that an append was due: its own part of `delivery_us`.
    pub lag_us: Latency,
    /// CPU time of the load program per record, in microseconds.
    pub client_cpu_us_per_record: f64,
    /// CPU time of the server per record, append and delivery, in microseconds.
    pub server_cpu_us_per_record: Option<f64>,
    /// What the server's memory grows by for a reader that waits, in the first run.
    pub server_bytes_per_reader: Option<f64>,
    #[serde(skip)]
    times: [Histogram<u64>; 4],
}

/// One measured run.
#[derive(Debug, Clone, Serialize)]
pub struct RunFigures {
    /// Length in seconds.
    pub seconds: f64,
    /// Records that were appended and delivered.
    pub records: u64,
    /// Records per second.
    pub records_per_second: f64,
    /// From the due time until the reader has the record.
    pub delivery_us: Latency,
    /// CPU seconds of the load program.
    pub client_cpu_seconds: f64,
    /// CPU seconds of the server.
    pub server_cpu_seconds: Option<f64>,
}

impl SideFigures {
    /// Without a run.
    pub fn new(name: &str, about: &str) -> SideFigures {
        SideFigures {
            name: name.to_owned(),
            about: about.to_owned(),
            runs: Vec::new(),
            records_per_second: Spread::default(),
            delivery_us: Latency::default(),
            from_send_us: Latency::default(),
            append_us: Latency::default(),
            lag_us: Latency::default(),
            client_cpu_us_per_record: 0.0,
            server_cpu_us_per_record: None,
            server_bytes_per_reader: None,
            times: std::array::from_fn(|_| new_histogram()),
        }
    }

    /// Adds a run, and prints its line.
    pub fn add(&mut self, outcome: &Outcome, client_cpu: f64, server_cpu: Option<f64>) {
        let Outcome { records, length, .. } = *outcome;
        assert_eq!((outcome.delivery.len(), outcome.append.len()), (records, records), "each record has both times");
        let run = RunFigures {
            seconds: length.as_secs_f64(),
            records,
            records_per_second: records as f64 / length.as_secs_f64(),
            delivery_us: Latency::of(&outcome.delivery),
            client_cpu_seconds: client_cpu,
            server_cpu_seconds: server_cpu,
        };
        println!(
            "run {}  {:<24} {:>7.0} records/s  p50 {:.3} ms  p99 {:.3} ms",
            self.runs.len() + 1,
            self.name,
            run.records_per_second,
            run.delivery_us.p50 / 1e3,
            run.delivery_us.p99 / 1e3,
        );
        self.runs.push(run);
        let Outcome { delivery, from_send, append, lag, .. } = outcome;
        for (all, one) in self.times.iter_mut().zip([delivery, from_send, append, lag]) {
            *all += one;
        }
        self.summarize();
    }

    fn summarize(&mut self) {
        let runs = || self.runs.iter();
        let per_record = |cpu_seconds: f64| cpu_seconds * 1e6 / runs().map(|run| run.records).sum::<u64>() as f64;
        let client_cpu_us = per_record(runs().map(|run| run.client_cpu_seconds).sum());
        let server_cpu_us = runs().map(|run| run.server_cpu_seconds).sum::<Option<f64>>().map(per_record);
        self.records_per_second = Spread::of(runs().map(|run| run.records_per_second)).unwrap_or_default();
        (self.client_cpu_us_per_record, self.server_cpu_us_per_record) = (client_cpu_us, server_cpu_us);
        let [delivery, from_send, append, lag] = self.times.each_ref().map(Latency::of);
        (self.delivery_us, self.from_send_us, self.append_us, self.lag_us) = (delivery, from_send, append, lag);
    }
}

impl Figures {
    /// Prints a line for each side.
    pub fn print(&self) {
        println!(
            "\n{:<26} {:>9} {:>8} {:>8} {:>8} {:>8} {:>13} {:>14} {:>12}",
            "", "records/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "CPU us/record", "load program's", "KiB/reader"
        );
        let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        for side in &self.sides {
            let times = &side.delivery_us;
            println!(
                "{:<26} {:>9.0} {:>8.3} {:>8.3} {:>8.3} {:>8.1} {:>13} {:>14.1} {:>12}",
                side.name,
                side.records_per_second.avg,
                times.p50 / 1e3,
                times.p99 / 1e3,
                times.p999 / 1e3,
                times.max / 1e3,
                optional(side.server_cpu_us_per_record),
                side.client_cpu_us_per_record,
                optional(side.server_bytes_per_reader.map(|bytes| bytes / 1024.0)),
            );
        }
        println!("\nTimes count from when an append is due. Other times:");
        for side in &self.sides {
            println!("{}", side.name);
            side.lag_us.print("sent late by");
            side.from_send_us.print("from the send");
            side.append_us.print("append");
        }
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        for side in &self.sides {
            let name = &side.name;
            figures.add(&format!("{name} records_per_second"), side.records_per_second.avg);
            side.delivery_us.add_to(&mut figures, &format!("{name} "));
            side.from_send_us.add_to(&mut figures, &format!("{name} from_send_"));
            side.append_us.add_to(&mut figures, &format!("{name} append_"));
            side.lag_us.add_to(&mut figures, &format!("{name} lag_"));
            figures.add(&format!("{name} client_cpu_us_per_record"), side.client_cpu_us_per_record);
            figures.add_some(&format!("{name} server_cpu_us_per_record"), side.server_cpu_us_per_record);
            figures.add_some(&format!("{name} server_bytes_per_reader"), side.server_bytes_per_reader);
        }
        figures
    }
}
