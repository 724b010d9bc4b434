//! The results for the futures of an asyncio loop.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Gives a future its result, in the loop's thread.
type Completion = Box<dyn FnOnce(Python<'_>) + Send>;

/// Results that a loop hasn't seen. Those that arrive together wake it up once: a thread that takes the GIL for each of
/// them waits for the loop's own thread every time.
#[pyclass(frozen)]
pub struct Completions {
    waiting: Mutex<Vec<Completion>>,
}

impl Completions {
    /// The ones of this loop.
    pub fn of(running: &Bound<'_, PyAny>) -> PyResult<Py<Completions>> {
        static BY_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = running.py();
        let new = || PyResult::Ok(py.import("weakref")?.call_method0("WeakKeyDictionary")?.unbind());
        let by_loop = BY_LOOP.get_or_try_init(py, new)?.bind(py);
        let known = by_loop.call_method1("get", (running,))?;
        if !known.is_none() {
            return Ok(known.cast_into::<Completions>()?.unbind());
        }
        let made = Py::new(py, Completions { waiting: Mutex::default() })?;
        by_loop.set_item(running, &made)?;
        Ok(made)
    }

    /// Whether the loop has to be woken up for this one: for others it has been.
    pub fn add(&self, completion: Completion) -> bool {
        let mut waiting = self.waiting();
        waiting.push(completion);
        waiting.len() == 1
    }

    /// Those that wait.
    pub fn take(&self) -> Vec<Completion> {
        std::mem::take(&mut *self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Completions {
    /// Called in the loop's thread.
    fn __call__(&self, py: Python<'_>) {
        self.take().into_iter().for_each(|complete| complete(py));
    }
}
