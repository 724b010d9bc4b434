//! The commands of the feature `full`: measurements, Avro, benchmarks and CPU profiles. `not_built.rs` stands in
//! without it.

pub use super::avro::{DecodeArgs, EncodeArgs, Encoder, FileRecords, LineShower, Shower};

use super::avro::Schemas;
use super::listen::{LISTEN_BACKLOG, bind, cannot_listen};
use super::log::Log;
use super::measurements::RollUps;
use super::rollups::RollupArgs;
use super::storage::{StorageArg, StorageKind};
use super::{CommandError, measure, query, series};
use rawline_bench::BenchError;
use rawline_broker::store::s3::Service;
use rawline_client::Client;
use rawline_server::Measurements;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// The commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Measure(measure::Args),
    Series(series::Args),
    Query(query::Args),
    Bench(rawline_bench::Args),
}

impl Command {
    /// Runs the command.
    pub async fn run(self) -> Result<(), CommandError> {
        match self {
            Command::Measure(args) => measure::run(args).await,
            Command::Series(args) => series::run(args).await,
            Command::Query(args) => query::run(args).await,
            Command::Bench(args) => Ok(rawline_bench::run(args).await?),
        }
    }
}

impl From<BenchError> for CommandError {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Usage(message) => CommandError::Usage(message),
            BenchError::Failed(message) => CommandError::Failed(message),
        }
    }
}

/// Converts the lines of `produce --format avro`. Its schema is registered before the first record is sent, so that no
/// reader meets a record without a schema.
pub async fn encoder(args: &EncodeArgs, file: Option<&Path>, client: &Client) -> Result<Encoder, CommandError> {
    let encoder = Encoder::new(args, file)?;
    if encoder.names_its_schema() {
        Schemas::new(client.clone()).register(encoder.schema()).await?;
    }
    Ok(encoder)
}

/// Whether the input of `produce --format avro` is an Avro object container file.
pub fn is_container(args: &EncodeArgs, file: Option<&Path>) -> bool {
    FileRecords::are_given(args, file)
}

/// The records of a container file. Their schema is registered like that of [`encoder`].
pub async fn container<'f>(
    args: &EncodeArgs,
    file: &'f [u8],
    client: &Client,
) -> Result<FileRecords<'f>, CommandError> {
    let records = FileRecords::open(args, file)?;
    if records.names_its_schema() {
        Schemas::new(client.clone()).register(records.schema()).await?;
    }
    Ok(records)
}

/// Decodes the records of `consume --format avro`.
pub async fn shower(args: &DecodeArgs, client: &Client) -> Result<Shower, CommandError> {
    Shower::new(args, Schemas::new(client.clone()))
}

/// The measurements in a broker's storage, if roll-ups can be there. A broker doesn't fail for want of them.
pub fn measurements(storage: &StorageArg) -> Option<Arc<dyn Measurements>> {
    if !matches!(storage.kind, StorageKind::Directory | StorageKind::Bucket(Service::S3)) {
        return None;
    }
    match (RollupArgs { storage: storage.clone() }).open() {
        Ok(storage) => Some(Arc::new(RollUps::new(storage))),
        Err(error) => {
            tracing::warn!("measurements can't be queried: {error}");
            None
        }
    }
}

/// Serves CPU profiles on this address.
pub async fn serve_profiles(log: &Log, address: SocketAddr) -> Result<(), CommandError> {
    const FLAG: &str = "--debug-listen";
    let socket = bind(address, FLAG)?;
    let listener = socket.listen(LISTEN_BACKLOG).map_err(|error| cannot_listen(address, FLAG, &error))?;
    let address = listener.local_addr().map_err(|error| CommandError::Failed(error.to_string()))?;
    log.say(&format!("profiles on http://{address}/debug/pprof/"));
    tokio::spawn(rawline_server::http::debug::serve(listener));
    Ok(())
}
