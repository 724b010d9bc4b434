//! `rawline bench proxy`: the proxy of `--store-delay` without a benchmark.

use super::environment::variables;
use super::store_delay::DelayArgs;
use crate::error::BenchError;
use std::net::SocketAddr;
use tokio::signal::unix::{SignalKind, signal};

/// Run the proxy of --store-delay for any client of a test S3 server
///
/// It forwards to AWS_ENDPOINT_URL, prints the variable that leads to the proxy instead, and runs until it is
/// interrupted. Then it prints the number of requests and its CPU time.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  AWS_ENDPOINT_URL=http://127.0.0.1:9000 rawline bench proxy --store-delay s3 --listen 127.0.0.1:9001
  AWS_ENDPOINT_URL=http://127.0.0.1:9001 rawline serve --storage s3://BUCKET/PREFIX
  rawline bench proxy --store-delay stormy --store-seed 7
  rawline bench proxy --store-delay 50ms --store-bandwidth none
  rawline bench proxy --store-delay quantiles.txt")]
pub struct Args {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// How slow it is.
    #[command(flatten)]
    delay: DelayArgs,
}

/// Runs the proxy.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let listen = |kind| signal(kind).map_err(|error| BenchError::Failed(format!("can't handle signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let proxy = args.delay.listen(args.listen, &variables()).await?;
    println!("export AWS_ENDPOINT_URL={}", proxy.endpoint);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let (requests, refused) = proxy.requests();
    let cpu = proxy.cpu().as_secs_f64();
    println!("{requests} requests, {refused} of them refused with 503; CPU {cpu:.2} s");
    Ok(())
}
