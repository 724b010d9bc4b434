//! Numbers as Python gives them: whole numbers and seconds, whose errors name the argument.

use crate::error::config_error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::Duration;

/// Practically forever, yet small enough to add to any clock's time.
const SECONDS_MAX: f64 = 1e9;

/// A whole number of the type's range, from 0 on. What counts as one in Python does here, such as numpy's integers.
pub fn whole<T: TryFrom<u64>>(name: &str, number: &Bound<'_, PyAny>) -> PyResult<T> {
    match number.extract::<u64>() {
        Ok(wide) => T::try_from(wide).map_err(|_| config_error(format!("{name} is {wide}; that is too large"))),
        Err(error) if error.is_instance_of::<PyTypeError>(number.py()) => {
            Err(PyTypeError::new_err(format!("{name} is {}; give a whole number", number.repr()?)))
        }
        Err(_) => Err(config_error(format!("{name} is {number}; give a whole number from 0 to 2^64-1"))),
    }
}

/// As [`whole`], of a value that may be left out.
pub fn whole_option<T: TryFrom<u64>>(name: &str, number: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    number.map(|number| whole(name, number)).transpose()
}

/// Seconds.
pub fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    let lasting = if seconds.is_finite() { seconds.min(SECONDS_MAX) } else { seconds };
    Duration::try_from_secs_f64(lasting)
        .map_err(|_| config_error(format!("{name} is {seconds}; give seconds from 0 on, such as 2.5")))
}

/// As [`seconds`], of a value that may be left out, or be infinite, which is the same.
pub fn seconds_option(name: &str, given: Option<f64>) -> PyResult<Option<Duration>> {
    given.filter(|given| *given != f64::INFINITY).map(|given| seconds(name, given)).transpose()
}
