//! A machine on which one run of a broker is: it is paused, resumed and killed together with all tasks of the broker.
//!
//! Its tasks have turns in the order of their numbers, whichever was woken first: the runtime's channels wake those
//! that wait for one thing in a random order, which no seed decides.

use rawline_broker::spawn_on;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::task::{AbortHandle, JoinHandle};

#[derive(Default)]
struct State {
    is_paused: bool,
    is_dead: bool,
    /// Number of tasks so far.
    started: u64,
    tasks: Vec<AbortHandle>,
    /// Those that were woken and have had no turn since.
    waiting: BTreeMap<u64, Waker>,
    /// Those whose turn it is.
    turns: BTreeSet<u64>,
    /// Of the task that gives turns.
    conductor: Option<Waker>,
}

/// A machine.
#[derive(Default)]
pub struct Machine(Mutex<State>);

impl Machine {
    pub fn new() -> Arc<Machine> {
        let machine = Arc::new(Machine::default());
        let conducted = machine.clone();
        tokio::spawn(poll_fn(move |context| conducted.give_turns(context)));
        machine
    }

    /// Starts a task on it.
    pub fn spawn<T: Send + 'static>(self: &Arc<Self>, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let machine: Arc<dyn rawline_broker::Machine> = self.clone();
        spawn_on(&machine, task)
    }

    fn give_turns(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.is_dead {
            return Poll::Ready(());
        }
        state.conductor = Some(context.waker().clone());
        if !state.is_paused {
            let waiting = std::mem::take(&mut state.waiting);
            state.turns.extend(waiting.keys());
            drop(state);
            waiting.into_values().for_each(Waker::wake);
        }
        Poll::Pending
    }

    fn wake_conductor(state: &mut State) {
        if let Some(conductor) = state.conductor.take() {
            conductor.wake();
        }
    }

    /// None of its tasks runs.
    pub fn pause(&self) {
        self.0.lock().unwrap().is_paused = true;
    }

    pub fn resume(&self) {
        let mut state = self.0.lock().unwrap();
        state.is_paused = false;
        Machine::wake_conductor(&mut state);
    }

    pub fn is_paused(&self) -> bool {
        self.0.lock().unwrap().is_paused
    }

    /// Ends everything on it wherever it is.
    pub fn kill(&self) {
        let mut state = self.0.lock().unwrap();
        state.is_dead = true;
        Machine::wake_conductor(&mut state);
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        tasks.iter().for_each(AbortHandle::abort);
    }
}

impl rawline_broker::Machine for Machine {
    fn number(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        state.started += 1;
        state.started
    }

    fn poll_turn(&self, task: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if !state.is_paused && state.turns.remove(&task) {
            return Poll::Ready(());
        }
        state.waiting.insert(task, context.waker().clone());
        Machine::wake_conductor(&mut state);
        Poll::Pending
    }

    fn started(&self, task: AbortHandle) {
        let mut state = self.0.lock().unwrap();
        if state.is_dead {
            return task.abort();
        }
        // Those that have ended are forgotten now and then.
        if state.tasks.len().is_power_of_two() && state.tasks.len() >= 256 {
            state.tasks.retain(|task| !task.is_finished());
        }
        state.tasks.push(task);
    }
}
