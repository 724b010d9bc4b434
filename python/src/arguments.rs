//! Numbers from Python: integers and seconds. Errors name the argument.

use crate::error::config_error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::Duration;

/// Practically forever, yet small enough to be added to any clock's time.
const SECONDS_MAX: f64 = 1e9;

/// A non-negative integer in the type's range. Accepts everything that Python accepts as an index, such as numpy's
/// integers.
pub fn whole<T: TryFrom<u64>>(name: &str, number: &Bound<'_, PyAny>) -> PyResult<T> {
    match number.extract::<u64>() {
        Ok(wide) => T::try_from(wide).map_err(|_| config_error(format!("{name} is {wide}; that is too large"))),
        Err(error) if error.is_instance_of::<PyTypeError>(number.py()) => {
            Err(PyTypeError::new_err(format!("{name} is {}; give a whole number", number.repr()?)))
        }
        Err(_) => Err(config_error(format!("{name} is {number}; give a whole number from 0 to 2^64-1"))),
    }
}

/// Like [`whole`], for an optional value.
pub fn whole_option<T: TryFrom<u64>>(name: &str, number: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    number.map(|number| whole(name, number)).transpose()
}

/// Seconds.
pub fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    let lasting = if seconds.is_finite() { seconds.min(SECONDS_MAX) } else { seconds };
    Duration::try_from_secs_f64(lasting)
        .map_err(|_| config_error(format!("{name} is {seconds}; give seconds from 0 on, such as 2.5")))
}

/// Like [`seconds`], for a value that may be absent or infinite, which means the same.
pub fn seconds_option(name: &str, given: Option<f64>) -> PyResult<Option<Duration>> {
    given.filter(|given| *given != f64::INFINITY).map(|given| seconds(name, given)).transpose()
}
