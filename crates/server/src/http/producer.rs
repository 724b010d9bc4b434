//! `POST /producer`: opens a new instance of a named producer.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use rawline_contract::ProducerInstance;

pub(crate) async fn open(api: &Api, caller: &Caller, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let name = Query::of(&request).producer_name()?.into_owned();
    let opened = api.broker.open_producer(&name, caller.owner()).await?;
    let rawline_broker::ProducerInstance { id, epoch } = opened;
    let instance = ProducerInstance { producer_id: id, producer_epoch: epoch };
    Ok(response::json(StatusCode::CREATED, &instance))
}
