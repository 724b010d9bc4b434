//! One tokio runtime per process, and how Python's threads and asyncio's loops wait for it.
//!
//! Waiting releases the GIL and checks for signals every [`SIGNALS_EVERY`], so that Ctrl-C ends any wait.

use crate::completions::Completions;
use crate::error::config_error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::{AbortHandle, JoinHandle};

/// Short for a user who pressed Ctrl-C, long for a processor.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(std::ptr::null_mut());

/// Number of times that this process' ancestors forked since the module was loaded.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The runtime, which is never dropped: its threads may be waiting when the interpreter ends.
pub fn runtime() -> PyResult<&'static Runtime> {
    let known = RUNTIME.load(Ordering::Acquire);
    // SAFETY: only pointers of leaked boxes are stored.
    if let Some(runtime) = unsafe { known.as_ref() } {
        return Ok(runtime);
    }
    let made = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("rawline").build();
    let made = made.map_err(|error| PyRuntimeError::new_err(format!("cannot start rawline's threads: {error}")))?;
    let made = Box::into_raw(Box::new(made));
    let stored = RUNTIME.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    if stored.is_err() {
        // Another thread was faster, which is possible without a GIL.
        // SAFETY: created above, and stored nowhere.
        unsafe { Box::from_raw(made) }.shutdown_background();
    }
    // SAFETY: either pointer belongs to a stored box, which is never freed.
    Ok(unsafe { &*stored.map_or_else(|other| other.cast_const(), |_null| made.cast_const()) })
}

/// In the child of a fork, the runtime's threads don't exist: the next use creates a new runtime.
#[pyfunction(name = "_after_fork")]
pub fn after_fork() {
    RUNTIME.store(std::ptr::null_mut(), Ordering::Release);
    INSIDE.store(0, Ordering::SeqCst);
    FORKS.fetch_add(1, Ordering::AcqRel);
}

/// Number of calls of [`attached`] that are running.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Whether the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Takes the GIL in a thread of the runtime; `None` when the interpreter is ending.
///
/// After the interpreter has begun to end, it ends any thread that wants to take the GIL back, wherever that thread is
/// in Python's code. A thread that ends below Rust's frames aborts the process. Therefore the exit waits for these
/// threads first.
pub fn attached<T>(inside: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let done = if ENDING.load(Ordering::SeqCst) { None } else { Python::try_attach(inside) };
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Waits until no thread of the runtime is in Python, and lets no thread enter any more.
#[pyfunction(name = "_before_exit")]
#[expect(clippy::disallowed_methods, reason = "the thread that sleeps is Python's, not the runtime's")]
pub fn before_exit(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        while INSIDE.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Ties an object to the process that created it.
#[derive(Debug, Clone, Copy)]
pub struct Process(u64);

impl Process {
    /// The current process.
    pub fn current() -> Process {
        Process(FORKS.load(Ordering::Acquire))
    }

    /// Fails in a process that was forked later.
    pub fn check(self) -> PyResult<()> {
        if self.0 == FORKS.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(config_error("this object was created before the process was forked; create a new one in the new process"))
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How to begin waiting for a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Poll it once: producers and consumers can often respond immediately.
    Look,
    /// Spawn it on the runtime: a request is never ready immediately, and polling it here first makes it slower by a
    /// seventh, measured with 16 threads that read 1 MiB each.
    Spawn,
}

/// Waits for a future with the GIL released. Ctrl-C drops the future.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let runtime = runtime()?;
    let (sender, mut receiver) = sync_channel(1);
    let mut task = None;
    // Releasing and retaking the GIL wakes other threads, so it is done only once if all goes well.
    let (waiting, spawned) = (&mut receiver, &mut task);
    let mut received = py.detach(move || {
        let future = match look(runtime, first, future) {
            Looked::Ready(value) => return Ok(value),
            Looked::Pending(future) => future,
        };
        let running = runtime.spawn(async move {
            // The receiver was dropped if the caller has given up.
            let _sent = sender.send(future.await);
        });
        *spawned = Some(AbortOnDrop(running.abort_handle()));
        waiting.recv_timeout(SIGNALS_EVERY)
    });
    loop {
        match received {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("rawline's task ended without a result; please report this"));
            }
        }
        // Mutably borrowed, since a receiver may move to another thread but not be shared.
        let waiting = &mut receiver;
        received = py.detach(move || waiting.recv_timeout(SIGNALS_EVERY));
    }
}

enum Looked<T> {
    Ready(T),
    Pending(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Polls a future once, if requested, before it is spawned.
fn look<T: Send + 'static>(
    runtime: &Runtime,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
) -> Looked<T> {
    let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    if first == First::Look {
        let _context = runtime.enter();
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Looked::Ready(value);
        }
    }
    Looked::Pending(future)
}

type Converted = PyResult<Py<PyAny>>;

/// An asyncio future, of the running loop, that gets the result of `future`. Cancelling it drops `future`.
pub fn to_asyncio<'py, T: Send + 'static>(
    py: Python<'py>,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> Converted + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    static GET_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let running = GET_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let promise = running.call_method0("create_future")?;
    let runtime = runtime()?;
    let future = match py.detach(|| look(runtime, first, future)) {
        Looked::Ready(value) => {
            set(&promise, convert(py, value))?;
            return Ok(promise);
        }
        Looked::Pending(future) => future,
    };
    let completions = Completions::of(&running)?;
    let (loop_, waiting) = (running.unbind(), promise.clone().unbind());
    let task: JoinHandle<()> = runtime.spawn(async move {
        let value = future.await;
        let complete = move |py: Python<'_>| complete(waiting.bind(py), convert, value);
        if completions.get().add(Box::new(complete)) {
            // Nothing waits for the result once the interpreter has ended.
            let _woken = attached(|py| {
                let woken = loop_.call_method1(py, "call_soon_threadsafe", (completions.clone_ref(py),));
                if woken.is_err() {
                    // The loop was closed in the meantime: nothing waits.
                    drop(completions.get().take());
                }
            });
        }
    });
    promise.call_method1("add_done_callback", (Canceller { task: task.abort_handle() },))?;
    Ok(promise)
}

/// Gives a future its result, unless it was cancelled.
fn complete<T>(promise: &Bound<'_, PyAny>, convert: impl FnOnce(Python<'_>, T) -> Converted, value: T) {
    let completed = promise
        .call_method0("done")
        .and_then(|done| if done.is_truthy()? { Ok(()) } else { set(promise, convert(promise.py(), value)) });
    if let Err(error) = completed {
        error.write_unraisable(promise.py(), Some(promise));
    }
}

fn set(promise: &Bound<'_, PyAny>, result: Converted) -> PyResult<()> {
    match result {
        Ok(value) => promise.call_method1("set_result", (value,))?,
        Err(error) => promise.call_method1("set_exception", (error.into_value(promise.py()),))?,
    };
    Ok(())
}

/// Aborts the task of an asyncio future that was cancelled.
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

/// A method's result for its caller: the value, or an asyncio future of it.
pub fn finish<T: Send + 'static>(
    py: Python<'_>,
    asynchronous: bool,
    first: First,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> Converted + Send + 'static,
) -> Converted {
    if asynchronous {
        return to_asyncio(py, first, future, convert).map(Bound::unbind);
    }
    convert(py, wait(py, first, future)?)
}
