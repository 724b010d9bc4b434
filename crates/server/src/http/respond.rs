//! Responds to one request: finds its route, checks who may send it, forwards it or hands it to its handler, and notes
//! it for the metrics and the audit log.

use crate::access::Caller;
use crate::access::audit::Event;
use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::body::BodyReader;
use crate::http::cluster::{ByOwner, Sender, Via};
use crate::http::error::ApiError;
use crate::http::limits::METRICS_UNREAD_MAX;
use crate::http::peers::Client;
use crate::http::response::ApiResponse;
use crate::http::routes::{Endpoint, Need, Route};
use crate::http::{
    append, browser, cluster, console, cors, groups, measurements, parameters, producer, query, read, response, routes,
    scrape, search, stats, subscribe, ticket, topics, zeek,
};
use crate::metrics::{Metered, Protocol, Verb};
use crate::net::peer::Peer;
use http::{HeaderValue, Method, Request, Uri, header};
use hyper::body::Incoming;
use rawline_broker::cluster::Forwarded;
use rawline_contract::{Code, code};
use std::sync::Arc;

/// The response to one request, counted.
pub(super) async fn respond(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    is_reserve: bool,
    mut request: Request<Incoming>,
) -> ApiResponse {
    let started = tokio::time::Instant::now();
    let route = routes::find(request.method(), request.uri().path());
    let origin = cors::allowed(&api.config.allowed_origins, request.headers()).cloned();
    let asked = Asked { method: request.method().clone(), uri: request.uri().clone(), route };
    let zoned = route.filter(|route| route.endpoint.has_nearer());
    let zoned = zoned.and_then(|_| cluster::ZonedRead::of(request.headers(), &query::Query::of(&request)));
    let (sender, admitted) = admit(api, session, route, origin.is_some(), &request);
    let (caller, via) = sender.map_or((None, None), |sender| (Some(sender.caller), sender.via));
    let client = via.and_then(|via| via.client).map(|address| peer.forwarding(address));
    let peer = client.as_ref().unwrap_or(peer);
    if let Some(via) = via {
        request.extensions_mut().insert(via);
    }
    let response = match (&caller, admitted) {
        (_, Ok(_)) if is_reserve && route.is_none_or(|route| route.need != Need::Nothing) => {
            drop(BodyReader::split(api, request));
            Err(ApiError::connections_too_many())
        }
        (Some(caller), Ok(endpoint)) => {
            if caller.counts_appends() {
                request.extensions_mut().insert(caller.clone());
            }
            forward_or_handle(api, peer, session, caller, endpoint, request).await
        }
        (None, Ok(endpoint)) => unreachable!("{endpoint:?} is admitted without a caller"),
        (_, Err(_)) if origin.is_some() && cors::is_preflight(&request) => {
            drop(BodyReader::split(api, request));
            Ok(cors::preflight())
        }
        (_, Err(error)) => {
            drop(BodyReader::split(api, request));
            Err(error)
        }
    };
    asked.audit(api, peer, caller.as_deref(), via, &response);
    if response.as_ref().is_err_and(|error| error.code() == code::QUOTA_EXCEEDED) {
        let is_append = route.is_some_and(|route| route.verb == Verb::Append);
        api.metrics.exceeded(Protocol::Http, if is_append { Metered::Append } else { Metered::Read });
    }
    let nearer = zoned.filter(|_| response.is_ok()).and_then(|read| read.nearer(api));
    let mut response = response.unwrap_or_else(ApiError::into_response);
    if let Some(url) = nearer {
        response.headers_mut().insert(rawline_contract::header::NEARER, url);
    }
    if let Some(caller) = caller.filter(|_| route.is_some_and(|route| route.endpoint.returns_records())) {
        caller.read(response.body().bytes());
    }
    if let Some(origin) = origin {
        cors::expose(&mut response, origin);
    }
    if is_reserve {
        // The next connection may get a regular place.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let verb = route.map_or(Verb::Other, |route| route.verb);
    api.metrics.responded(verb, response.status(), started.elapsed());
    response
}

/// The sender of a request, and its route. Refuses requests that are malformed, that may not be sent here, for which
/// the caller's key has no grant, or that have no route.
fn admit(
    api: &Api,
    session: &Session,
    route: Option<&Route>,
    is_allowed_origin: bool,
    request: &Request<Incoming>,
) -> (Option<Sender>, Result<Endpoint, ApiError>) {
    let sender = match identify(api, session, route, is_allowed_origin, request) {
        Ok(sender) => sender,
        Err(error) => return (None, Err(error)),
    };
    let endpoint = match route {
        Some(route) => {
            let allowed = route.need.check(&sender.caller, request);
            let checked = allowed.and_then(|()| parameters::check(route, request.uri().query().unwrap_or_default()));
            checked.map(|()| route.endpoint)
        }
        None => Err(routes::refusal(request.uri().path())),
    };
    (Some(sender), endpoint)
}

/// The sender of a request.
fn identify(
    api: &Api,
    session: &Session,
    route: Option<&Route>,
    is_allowed_origin: bool,
    request: &Request<Incoming>,
) -> Result<Sender, ApiError> {
    browser::check_host_is_there(request)?;
    let access = &api.config.access;
    if request.headers().contains_key(rawline_contract::header::PEER) {
        return cluster::sender(api, session, route, request);
    }
    match route.map(|route| route.need) {
        Some(Need::Nothing) => return Ok(Caller::unknown().into()),
        Some(Need::Broker) if api.broker.cluster().is_some() => return Err(ApiError::peer_unknown()),
        Some(Need::Broker) => return Err(ApiError::path(request.uri().path())),
        _ => {}
    }
    if access.is_open() {
        browser::check(request, is_allowed_origin, api.is_local)?;
        return Ok(access.anyone().into());
    }
    if route.is_some_and(|route| route.endpoint.is_subscription())
        && let Some(identity) = api.tickets.admit(request)?
    {
        return session.of_ticket(access, &identity).map(Sender::from);
    }
    let authorization = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    session.caller(access, authorization).map(Sender::from)
}

/// Sends a request on to the broker that is to handle it, or handles it.
async fn forward_or_handle(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    caller: &Arc<Caller>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let Some(cluster) = api.broker.cluster().filter(|_| endpoint.is_the_owners()) else {
        return handle(api, peer, session, caller, endpoint, request).await;
    };
    let journal = journal_of(api, endpoint, &request);
    if cluster.is_read_only() && !cluster.is_owned_by_other(journal) {
        drop(BodyReader::split(api, request));
        return Err(ApiError::read_only());
    }
    if endpoint.is_of_groups() && !cluster.is_owned_by_other(journal) && !cluster.acts(journal).await {
        return Err(ApiError::taking_over());
    }
    // A request that another broker has forwarded is handled here, even if the owner has changed since.
    let request = if request.extensions().get::<Via>().is_some() {
        request
    } else {
        let authorization = request.headers().get(header::AUTHORIZATION).cloned();
        let client = Client { caller: caller.clone(), address: peer.address, authorization };
        // On the heap: a connection has no room for its state. The owner counts the client's bytes.
        match Box::pin(cluster::forward(api, cluster, journal, endpoint, client, request)).await? {
            Forwarded::Response(response, _) => return Ok(response),
            Forwarded::Here(request) => request,
        }
    };
    if cluster.is_read_only() {
        // The owner can't be reached, or a broker takes this one for it.
        drop(BodyReader::split(api, request));
        return Err(ApiError::read_only());
    }
    handle(api, peer, session, caller, endpoint, request).await
}

/// The journal that a request is about. Its handler refuses a request without a name.
fn journal_of(api: &Api, endpoint: Endpoint, request: &Request<Incoming>) -> u32 {
    let query = query::Query::of(request);
    let name = match endpoint {
        Endpoint::OpenProducer => query.producer_name(),
        endpoint if endpoint.is_of_groups() => query.group(),
        _ => query.topic(),
    };
    name.map_or(0, |name| api.broker.journal_of(&name))
}

/// A request, for the audit log.
struct Asked<'a> {
    method: Method,
    uri: Uri,
    route: Option<&'a Route>,
}

impl Asked<'_> {
    /// Notes an administrative change, or that the caller may not do this.
    fn audit(
        &self,
        api: &Api,
        peer: &Peer,
        caller: Option<&Caller>,
        via: Option<Via>,
        response: &Result<ApiResponse, ApiError>,
    ) {
        if response.as_ref().is_ok_and(|response| response.extensions().get::<ByOwner>().is_some()) {
            return;
        }
        let code = response.as_ref().err().map(ApiError::code);
        let is_refused = code.is_some_and(|code| AUDITED.contains(&code));
        let change = self.route.and_then(|route| route.endpoint.change());
        if change.is_none() && !is_refused {
            return;
        }
        let request = || format!("{} {}", self.method, self.route.map_or("other", |route| route.path));
        let (action, resource) = (change.map_or_else(request, str::to_owned), query::resource(&self.uri));
        let through = via.map(|via| via.broker.to_string());
        let event = Event {
            protocol: "http",
            key: caller.and_then(Caller::name),
            peer: Some(peer.address),
            through: through.as_deref(),
            action: &action,
            resource: &resource,
            outcome: code.map_or("ok", |code| code.name),
            left_out: 0,
        };
        let audit = api.config.access.audit();
        if is_refused { audit.refused(event) } else { audit.note(&event) }
    }
}

/// The refusals that are audited.
const AUDITED: [Code; 4] = [code::UNAUTHORIZED, code::PEER_UNKNOWN, code::GRANT_MISSING, code::QUOTA_EXCEEDED];

async fn handle(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    caller: &Arc<Caller>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    match endpoint {
        Endpoint::Append => append::append(api, peer, caller, request).await,
        Endpoint::Read => read::records(api, peer, caller, request).await,
        Endpoint::ReadOne => read::record(api, peer, request).await,
        Endpoint::Topic => topics::topic(api, request).await,
        Endpoint::SetTopic => topics::set_topic(api, request).await,
        Endpoint::CreateTopic => topics::create_topic(api, request).await,
        Endpoint::DeleteTopic => topics::delete_topic(api, request).await,
        Endpoint::Trim => topics::trim(api, request).await,
        Endpoint::OpenProducer => producer::open(api, caller, request).await,
        Endpoint::Groups => groups::groups(api, peer, caller, request).await,
        Endpoint::Group => groups::group(api, peer, caller, request).await,
        Endpoint::CommitOffsets => groups::commit(api, caller, request).await,
        Endpoint::DeleteOffsets => groups::delete(api, request).await,
        Endpoint::Join => groups::member::join(api, peer, caller, request).await,
        Endpoint::Heartbeat => groups::member::heartbeat(api, request).await,
        Endpoint::Leave => groups::member::leave(api, request).await,
        Endpoint::Topics => topics::topics(api, peer, caller, &request).await,
        Endpoint::Subscribe => subscribe::subscribe(api, peer, caller, &request).await,
        Endpoint::Search => Box::pin(search::search(api, peer, caller, &request)).await,
        Endpoint::Zeek => zeek::connect(api, caller, &request),
        Endpoint::CreateTicket => Ok(ticket::create(api, caller, request)),
        Endpoint::Offset => topics::offset(api, request).await,
        Endpoint::Stats => stats::stats(api, peer).await,
        // On the heap: a connection has no room for their state.
        Endpoint::Measurements => Box::pin(measurements::topics(api, peer, caller)).await,
        Endpoint::MeasurementMetrics => Box::pin(measurements::metrics(api, peer, &request)).await,
        Endpoint::MeasurementTags => Box::pin(measurements::tags(api, peer, &request)).await,
        Endpoint::MeasurementQuery => Box::pin(measurements::query(api, peer, &request)).await,
        Endpoint::Brokers => Ok(cluster::brokers(api)),
        Endpoint::BrokerHello | Endpoint::BrokerProof | Endpoint::BrokerChanges => {
            Box::pin(between_brokers(api, session, endpoint, request)).await
        }
        Endpoint::Metrics => render_metrics(api).await,
        Endpoint::Health => Ok(response::text(health(api))),
        Endpoint::OpenApi => Ok(response::json_document(include_str!("openapi.json"))),
        Endpoint::Welcome if console::wants_page(request.headers()) => console::file(&request),
        Endpoint::Console => console::file(&request),
        Endpoint::Welcome => Ok(response::text(routes::welcome())),
    }
}

/// Requests that brokers send on their own behalf.
async fn between_brokers(
    api: &Api,
    session: &Session,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let via = request.extensions().get::<Via>().copied();
    match (api.broker.cluster(), endpoint, via) {
        (Some(cluster), Endpoint::BrokerHello, _) => cluster::hello(api, cluster, session, request).await,
        (Some(cluster), Endpoint::BrokerProof, _) => cluster::proof(cluster, session, request).await,
        (Some(cluster), _, Some(via)) => cluster::changes(cluster, via, request).await,
        _ => Err(ApiError::path(request.uri().path())),
    }
}

async fn render_metrics(api: &Api) -> Result<ApiResponse, ApiError> {
    let permit = tokio::time::timeout(api.config.pool_wait, api.metrics_unread.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let message = format!("{METRICS_UNREAD_MAX} clients have not read their metrics yet; retry");
        return Err(ApiError::new(code::BUFFERS_EXHAUSTED, message));
    };
    Ok(response::metrics(Box::pin(scrape::text(api)).await, permit))
}

/// `ok`, also if topics have failed: the others are served, and restarting the broker again and again would not help.
fn health(api: &Api) -> String {
    match api.broker.failed_topics().len() {
        0 => "ok\n".to_owned(),
        failed => format!("ok, but {failed} topics have failed: restart the broker; its log has the details\n"),
    }
}
