//! Converts the Rust crates' errors into the package's exceptions, which `lib/rawline/errors.py` defines.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rawline_batch::BatchError;
use rawline_batch::record_batch::RecordBatchError;
use rawline_client::{ClientError, Kind};

const FIX_REQUEST: &str = "fix_request";

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::FixRequest => FIX_REQUEST,
        Kind::TryAgain => "try_again",
        Kind::Wait => "wait",
        Kind::TellHuman => "tell_human",
    }
}

/// Creates an exception of this class in `rawline.errors`.
fn raise(class: &str, arguments: (String, &str, Option<String>, Option<u16>, Option<f64>)) -> PyErr {
    Python::attach(|py| {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || py.import("rawline.errors").map(Bound::unbind));
        let class = module.and_then(|module| Ok(module.bind(py).getattr(class)?.cast_into::<PyType>()?));
        match class {
            Ok(class) => PyErr::from_type(class, arguments_of(py, arguments)),
            Err(error) => error,
        }
    })
}

/// As a tuple, so that these values become the exception's arguments.
fn arguments_of(
    py: Python<'_>,
    arguments: (String, &str, Option<String>, Option<u16>, Option<f64>),
) -> Py<pyo3::types::PyTuple> {
    match arguments.into_pyobject(py) {
        Ok(tuple) => tuple.unbind(),
        Err(_) => pyo3::types::PyTuple::empty(py).unbind(),
    }
}

/// Converts an error of the client crate.
pub fn client_error(error: ClientError) -> PyErr {
    let class = match &error {
        ClientError::Config { .. } => "ConfigError",
        ClientError::Connect { .. } => "ConnectError",
        ClientError::Tls { .. } => "TlsError",
        ClientError::Broken { .. } => "BrokenError",
        ClientError::Timeout { .. } => "RequestTimeoutError",
        // As the broker would refuse it.
        ClientError::Refused { .. } | ClientError::NoPartition { .. } => "RefusedError",
        ClientError::Fenced { .. } => "FencedError",
        ClientError::Answer { .. } => "AnswerError",
        ClientError::Batch(_)
        | ClientError::RecordBatch(_)
        | ClientError::Records(_)
        | ClientError::Unreadable { .. } => "BatchError",
        ClientError::Stopped { .. } => "StoppedError",
        _ => "RawlineError",
    };
    let code = match &error {
        ClientError::Batch(error) => Some(error.code().to_owned()),
        // As the broker names them.
        ClientError::RecordBatch(RecordBatchError::Checksum { .. }) => Some("record_batch_damaged".to_owned()),
        ClientError::RecordBatch(_) | ClientError::Records(_) => Some("record_batch_invalid".to_owned()),
        ClientError::Unreadable { .. } => Some("unpack_failed".to_owned()),
        error => error.code().map(str::to_owned),
    };
    let retry_after = error.retry_after().map(|wait| wait.as_secs_f64());
    raise(class, (error.to_string(), kind_name(error.kind()), code, error.status(), retry_after))
}

/// Bytes that aren't a valid batch.
pub fn batch_error(error: BatchError) -> PyErr {
    client_error(error.into())
}

/// Invalid settings.
pub fn config_error(reason: impl Into<String>) -> PyErr {
    client_error(ClientError::Config { reason: reason.into() })
}

/// The caller's timeout expired.
pub fn wait_timeout(what: &str) -> PyErr {
    raise("WaitTimeoutError", (what.to_owned(), "wait", None, None, None))
}

/// Bytes, JSON or objects that aren't a value.
pub fn value_error(error: impl ToString) -> PyErr {
    raise("ValueFormatError", (error.to_string(), FIX_REQUEST, None, None, None))
}

/// An Avro schema, message or measurement that is invalid or doesn't match.
pub fn avro_error(error: impl ToString) -> PyErr {
    raise("AvroError", (error.to_string(), FIX_REQUEST, None, None, None))
}

/// The result of a request that returns nothing.
pub fn nothing(py: Python<'_>, done: Result<(), ClientError>) -> PyResult<Py<PyAny>> {
    done.map(|()| py.None()).map_err(client_error)
}
