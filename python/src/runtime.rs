//! One tokio runtime for the process: how Python's threads wait for it, and how asyncio's loops do.
//!
//! Waiting releases the GIL, and looks after signals every [`SIGNALS_EVERY`], so that Ctrl-C ends any wait.

use crate::error::config_error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::{AbortHandle, JoinHandle};

/// Short for a person who pressed Ctrl-C, long for a processor.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(std::ptr::null_mut());

/// How often this process was forked off since the module was loaded in its ancestor.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The runtime, which is never dropped: its threads may be waiting when the interpreter ends.
pub fn runtime() -> PyResult<&'static Runtime> {
    let known = RUNTIME.load(Ordering::Acquire);
    // SAFETY: only pointers of leaked boxes are stored.
    if let Some(runtime) = unsafe { known.as_ref() } {
        return Ok(runtime);
    }
    let made = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("rawline").build();
    let made = made.map_err(|error| PyRuntimeError::new_err(format!("rawline's threads can't be started: {error}")))?;
    // Callers hold the GIL, so there is one at a time here.
    let runtime: &'static mut Runtime = Box::leak(Box::new(made));
    RUNTIME.store(runtime, Ordering::Release);
    Ok(runtime)
}

/// In the child of a fork the runtime's threads are gone: the next use makes new ones.
#[pyfunction(name = "_after_fork")]
pub fn after_fork() {
    RUNTIME.store(std::ptr::null_mut(), Ordering::Release);
    FORKS.fetch_add(1, Ordering::AcqRel);
}

/// Ties an object to the process that made it.
#[derive(Debug, Clone, Copy)]
pub struct Process(u64);

impl Process {
    /// This one.
    pub fn current() -> Process {
        Process(FORKS.load(Ordering::Acquire))
    }

    /// Errs in a process that was forked off since.
    pub fn check(self) -> PyResult<()> {
        if self.0 == FORKS.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(config_error("this object was made before the process was forked; make a new Client in the new process"))
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What to do first with a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Look whether it is ready: much of what producers and consumers are asked for is.
    Look,
    /// Hand it to the runtime: a request is never ready, and one that is begun here and goes on there is slower by a
    /// seventh, measured with 16 threads that read 1 MiB each.
    Spawn,
}

/// Waits for a future with the GIL released; none if `timeout` runs out first. Then, and when Ctrl-C is pressed, the
/// future is dropped.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    timeout: Option<Duration>,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<Option<T>> {
    let runtime = runtime()?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let slice = || {
        let left = deadline.map_or(SIGNALS_EVERY, |deadline| deadline.saturating_duration_since(Instant::now()));
        left.min(SIGNALS_EVERY)
    };
    let (sender, mut receiver) = sync_channel(1);
    let mut task = None;
    // Releasing the GIL and taking it again wakes other threads, so it is done once if all goes well.
    let (waiting, spawned, first_slice) = (&mut receiver, &mut task, slice());
    let mut came = py.detach(move || {
        let mut future = Box::pin(future);
        if first == First::Look {
            let _context = runtime.enter();
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Ok(value);
            }
        }
        let running = runtime.spawn(async move {
            // The receiver is gone when the caller has given up.
            let _sent = sender.send(future.await);
        });
        *spawned = Some(AbortOnDrop(running.abort_handle()));
        waiting.recv_timeout(first_slice)
    });
    loop {
        match came {
            Ok(value) => return Ok(Some(value)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("rawline's task ended without an answer; please report this"));
            }
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(None);
        }
        // Mutably borrowed, since a receiver may move to another thread but not be shared.
        let (waiting, slice) = (&mut receiver, slice());
        came = py.detach(move || waiting.recv_timeout(slice));
    }
}

type Converted = PyResult<Py<PyAny>>;

/// A future of the running asyncio loop that gets what `future` gives. Cancelling it drops `future`.
pub fn to_asyncio<'py, T: Send + 'static>(
    py: Python<'py>,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> Converted + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    static GET_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static COMPLETE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let running = GET_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let complete = COMPLETE.import(py, "rawline.aio", "_complete")?.clone().unbind();
    let promise = running.call_method0("create_future")?;
    let (loop_, told) = (running.unbind(), promise.clone().unbind());
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    let task: JoinHandle<()> = runtime()?.spawn(async move {
        let value = future.await;
        // Nobody is left to be told when the interpreter has ended.
        let _told = Python::try_attach(|py| {
            let (value, error) = match convert(py, value) {
                Ok(value) => (value, py.None()),
                Err(error) => (py.None(), error.into_value(py).into_any()),
            };
            // A loop that was closed meanwhile refuses; then nobody waits.
            let _scheduled = loop_.call_method1(py, "call_soon_threadsafe", (complete, told, value, error));
        });
    });
    promise.call_method1("add_done_callback", (Canceller { task: task.abort_handle() },))?;
    Ok(promise)
}

/// Ends the task of an asyncio future that is done, if it was cancelled.
#[pyclass(frozen)]
struct Canceller {
    task: AbortHandle,
}

#[pymethods]
impl Canceller {
    fn __call__(&self, _promise: &Bound<'_, PyAny>) {
        self.task.abort();
    }
}

/// What a method gives its caller: the value, or an asyncio future of it.
pub fn finish<T: Send + 'static>(
    py: Python<'_>,
    asynchronous: bool,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> Converted + Send + 'static,
) -> Converted {
    if asynchronous {
        return to_asyncio(py, future, convert).map(Bound::unbind);
    }
    match wait(py, None, first, future)? {
        Some(value) => convert(py, value),
        None => Ok(py.None()),
    }
}

/// Seconds as Python gives them.
pub fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| config_error(format!("{name} is {seconds}; give seconds from 0 on, such as 2.5")))
}

/// As [`duration`], of a value that may be left out.
pub fn duration_option(name: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    // Beyond what a clock can add is as good as never.
    seconds.filter(|seconds| *seconds < 1e9).map(|seconds| duration(name, seconds)).transpose()
}
