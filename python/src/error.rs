//! Errors of the Rust crates as the package's exceptions, which `lib/rawline/errors.py` defines.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rawline_batch::BatchError;
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

/// An exception of the class of that name in `rawline.errors`.
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

/// As a tuple, so that they become the exception's own arguments.
fn arguments_of(
    py: Python<'_>,
    arguments: (String, &str, Option<String>, Option<u16>, Option<f64>),
) -> Py<pyo3::types::PyTuple> {
    match arguments.into_pyobject(py) {
        Ok(tuple) => tuple.unbind(),
        Err(_) => pyo3::types::PyTuple::empty(py).unbind(),
    }
}

/// What the client crate reports.
pub fn client_error(error: ClientError) -> PyErr {
    let class = match &error {
        ClientError::Config { .. } => "ConfigError",
        ClientError::Connect { .. } => "ConnectError",
        ClientError::Tls { .. } => "TlsError",
        ClientError::Broken { .. } => "BrokenError",
        ClientError::Timeout { .. } => "RequestTimeoutError",
        ClientError::Refused { .. } => "RefusedError",
        ClientError::Answer { .. } => "AnswerError",
        ClientError::Batch(_) => "BatchError",
        ClientError::Stopped { .. } => "StoppedError",
        _ => "RawlineError",
    };
    let code = match &error {
        ClientError::Batch(error) => Some(error.code().to_owned()),
        error => error.code().map(str::to_owned),
    };
    let retry_after = error.retry_after().map(|wait| wait.as_secs_f64());
    raise(class, (error.to_string(), kind_name(error.kind()), code, error.status(), retry_after))
}

/// A batch that is none.
pub fn batch_error(error: BatchError) -> PyErr {
    client_error(error.into())
}

/// Settings that can't be.
pub fn config_error(reason: impl Into<String>) -> PyErr {
    client_error(ClientError::Config { reason: reason.into() })
}

/// The time that the caller gave ran out.
pub fn wait_timeout(what: &str) -> PyErr {
    raise("WaitTimeoutError", (what.to_owned(), "wait", None, None, None))
}

/// Bytes, JSON or objects that are no value.
pub fn value_error(error: impl ToString) -> PyErr {
    raise("ValueFormatError", (error.to_string(), FIX_REQUEST, None, None, None))
}

/// An Avro schema or message, or a measurement, that does not fit.
pub fn avro_error(error: impl ToString) -> PyErr {
    raise("AvroError", (error.to_string(), FIX_REQUEST, None, None, None))
}
