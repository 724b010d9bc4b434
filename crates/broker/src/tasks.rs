//! The tasks and the blocking work that the broker starts. A simulation's runtime runs them like its own.
//!
//! Where a simulation has several brokers in one runtime, each has a [`Machine`]: whatever a task of a broker starts is
//! on the broker's machine, which stops and ends all of it together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

/// The simulated machine of a broker.
pub trait Machine: Send + Sync + 'static {
    /// The number of a task that is about to start on the machine.
    fn number(&self) -> u64;

    /// Ready when it is a task's turn to be polled, once for each time that it is woken. While the machine stands
    /// still, no task has a turn.
    fn poll_turn(&self, task: u64, context: &mut Context<'_>) -> Poll<()>;

    /// A task was started on the machine, which ends it when it dies.
    fn started(&self, task: AbortHandle);
}

tokio::task_local! {
    /// The machine of the current task, in a simulation.
    static MACHINE: Arc<dyn Machine>;
}

/// Starts a task on a machine of a simulation.
pub fn spawn_on<T: Send + 'static>(
    machine: &Arc<dyn Machine>,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    start_on(machine, &Handle::current(), task)
}

/// Starts a task in the current runtime.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    spawn_in(&Handle::current(), task)
}

/// Starts a task in a runtime.
pub(crate) fn spawn_in<T: Send + 'static>(
    runtime: &Handle,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    match MACHINE.try_with(Arc::clone) {
        Ok(machine) => start_on(&machine, runtime, task),
        Err(_) => runtime.spawn(task),
    }
}

fn start_on<T: Send + 'static>(
    machine: &Arc<dyn Machine>,
    runtime: &Handle,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let task = MACHINE.scope(machine.clone(), task);
    let task = runtime.spawn(OnMachine { machine: machine.clone(), number: machine.number(), task: Box::pin(task) });
    machine.started(task.abort_handle());
    task
}

/// A task that is polled only when its machine gives it a turn.
struct OnMachine<F> {
    machine: Arc<dyn Machine>,
    number: u64,
    task: Pin<Box<F>>,
}

impl<F: Future> Future for OnMachine<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        ready!(self.machine.poll_turn(self.number, context));
        self.task.as_mut().poll(context)
    }
}

/// Runs `work` on a thread that may block. It is carried out even if no task waits for it.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub(crate) fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}
