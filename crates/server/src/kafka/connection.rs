//! One connection: requests are read and begun while those before them are being served, and answered in order.

use super::building::Building;
use super::error::ConnectionError;
use super::incoming::{BUFFER_BYTES, Frame, Incoming};
use super::reply::Pending;
use super::sasl::{LOGIN_BYTES_MAX, LOGIN_WAIT, Login};
use super::{Client, admin, api_versions, fetch, groups, list_offsets, metadata, produce, producer_id, transactions};
use crate::net::activity::Activity;
use crate::net::listen::Place;
use crate::net::pace::Paced;
use crate::net::sendfile::FileSender;
use rawline_kafka::Api;
use rawline_kafka::messages::{Request, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Requests of one connection that have no response yet. Clients send five before they wait.
const IN_FLIGHT_MAX: usize = 32;

/// How long the last responses may take when the client has closed its side.
const LAST_RESPONSES_WAIT: Duration = Duration::from_secs(1);

/// Serves a connection until its client or the broker closes it.
pub(super) async fn serve(client: Arc<Client>, place: Place, stream: Paced<FileSender>, address: SocketAddr) {
    if place.is_reserve {
        // The protocol has no words for it. Clients connect again after a while.
        return;
    }
    let activity = place.open.activity.clone();
    let (reader, writer) = tokio::io::split(stream);
    let (pending, responses) = mpsc::channel(IN_FLIGHT_MAX);
    let in_flight = Arc::new(AtomicUsize::new(0));
    let waits = client.kafka.config.waits;
    let requests = Requests {
        client: client.clone(),
        incoming: Incoming::new(reader, waits),
        pending,
        activity: activity.clone(),
        in_flight: in_flight.clone(),
        login: Login::new(client.kafka.sasl.as_ref()),
    };
    let mut closing = client.kafka.closing.clone();
    let both = async {
        let mut writing = std::pin::pin!(write(responses, writer, &activity, &in_flight));
        let (mut is_closing, mut refused) = (false, Ok(()));
        tokio::select! {
            ended = requests.read() => match ended {
                Err(ConnectionError::Login { .. }) => refused = ended,
                ended => ended?,
            },
            written = &mut writing => return written,
            _ = closing.wait_for(|&is_closing| is_closing) => is_closing = true,
        }
        // No request is read any more; those in flight get their responses.
        let wait = if is_closing { client.kafka.config.shutdown_wait } else { LAST_RESPONSES_WAIT };
        tokio::time::timeout(wait, writing).await.unwrap_or(Ok(())).and(refused)
    };
    tokio::select! {
        ended = both => match ended {
            Ok(()) => tracing::debug!(%address, "a connection ended"),
            Err(ConnectionError::Io(error)) => tracing::debug!(%address, %error, "a connection ended"),
            Err(error) => tracing::warn!(%address, %error, "closed a Kafka client's connection"),
        },
        () = activity.evicted() => tracing::debug!(%address, "closed an idle connection: another needs it"),
    }
}

/// Writes responses in order, as soon as they are known.
async fn write(
    mut responses: mpsc::Receiver<Pending>,
    mut writer: impl AsyncWrite + Unpin,
    activity: &Activity,
    in_flight: &AtomicUsize,
) -> Result<(), ConnectionError> {
    while let Some(pending) = responses.recv().await {
        if let Some(reply) = pending.reply().await {
            activity.responds(reply.holds_buffers);
            reply.write(&mut writer).await?;
        }
        if in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            activity.end(false);
            activity.idle();
        }
    }
    Ok(())
}

/// The requests of a connection.
struct Requests<S> {
    client: Arc<Client>,
    incoming: Incoming<S>,
    pending: mpsc::Sender<Pending>,
    activity: Arc<Activity>,
    /// Requests that have no response yet. The connection is idle while there are none.
    in_flight: Arc<AtomicUsize>,
    login: Login,
}

impl<S: AsyncRead + Unpin> Requests<S> {
    /// Reads requests and begins them, until the client closes the connection.
    async fn read(mut self) -> Result<(), ConnectionError> {
        if !self.login.is_done() {
            let wait = LOGIN_WAIT.min(self.client.kafka.config.waits.head);
            let login = tokio::time::timeout(wait, async {
                while !self.login.is_done() && self.next(LOGIN_BYTES_MAX).await? {}
                Ok(())
            });
            login.await.unwrap_or(Err(ConnectionError::LoginTime { wait }))?;
        }
        let bytes_max = self.client.kafka.config.request_bytes_max;
        while self.next(bytes_max).await? {}
        Ok(())
    }

    /// Reads a request and begins it; false if there are no more.
    async fn next(&mut self, bytes_max: u64) -> Result<bool, ConnectionError> {
        let Some(frame) = self.incoming.frame(bytes_max).await? else { return Ok(false) };
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 && !self.activity.begin() {
            // The connection is being closed.
            std::future::pending::<()>().await;
        }
        let pending = self.begin(frame).await?;
        let is_sent = self.pending.send(pending).await.is_ok();
        self.login.check()?;
        Ok(is_sent)
    }

    async fn begin(&mut self, Frame { header, left }: Frame) -> Result<Pending, ConnectionError> {
        let not_served = ConnectionError::NotServed { api: header.api, version: header.version };
        let api = Api::from_key(header.api).filter(|api| api_versions::is_served(*api)).ok_or(not_served)?;
        self.login.allow(api)?;
        if api == Api::ApiVersions && !api.versions().contains(&header.version) {
            self.incoming.whole(left).await?;
            return Ok(Pending::Ready(Some(api_versions::unsupported(&header))));
        }
        if api == Api::Produce {
            return produce::receive(&self.client, &mut self.incoming, header, left).await;
        }
        let since = Instant::now();
        let permit = match left > BUFFER_BYTES as u64 {
            true => self.client.kafka.large.clone().acquire_owned().await.ok(),
            false => None,
        };
        self.incoming.paused(since.elapsed());
        let body = self.incoming.whole(left).await?;
        if api == Api::Fetch {
            return fetch::begin(&self.client, header, &body, permit);
        }
        let request = Request::read(api, header.version, &body)?;
        if groups::APIS.contains(&api) {
            // On the heap: an idle connection has no room for its state.
            return Ok(Box::pin(groups::respond(&self.client, &header, request)).await);
        }
        let client = &*self.client;
        let sasl = client.kafka.sasl.as_ref();
        let mut building = Building::new(&client.kafka);
        let response: Response = match request {
            Request::ApiVersions(_) => api_versions::respond(header.version).into(),
            Request::SaslHandshake(request) => self.login.handshake(sasl, header.version, &request).into(),
            Request::SaslAuthenticate(request) => self.login.authenticate(sasl, &request).into(),
            Request::Metadata(request) => {
                metadata::respond(client, header.version, request, &mut building).await.into()
            }
            // On the heap: an idle connection has no room for its state.
            Request::ListOffsets(request) => Box::pin(list_offsets::respond(client, request)).await.into(),
            Request::InitProducerId(request) => {
                Box::pin(producer_id::respond(client, header.version, &request)).await.into()
            }
            Request::EndTxn(request) => Box::pin(transactions::end(client, header.version, &request)).await.into(),
            // On the heap: an idle connection has no room for its state.
            request => match Box::pin(admin::respond(client, request, &mut building)).await? {
                Some(response) => response,
                None => return Err(ConnectionError::NotServed { api: header.api, version: header.version }),
            },
        };
        Ok(Pending::Ready(Some(building.finish(client, &header, api, response).await?)))
    }
}
