//! A timer that wakes up a poll, exact to microseconds.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::time::Instant;

/// The token of the timer's events.
pub const TIMER: Token = Token(usize::MAX - 1);

/// A timer of the kernel: the timeout of a poll knows only milliseconds, and spinning takes a core from the server.
pub struct Timer {
    descriptor: OwnedFd,
    set_to: Option<Instant>,
}

impl Timer {
    /// A timer that isn't set, whose events go to this poll.
    pub fn new(registry: &Registry) -> io::Result<Timer> {
        let descriptor =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK.union(TimerfdFlags::CLOEXEC))?;
        registry.register(&mut SourceFd(&descriptor.as_raw_fd()), TIMER, Interest::READABLE)?;
        Ok(Timer { descriptor, set_to: None })
    }

    /// Wakes the poll up at this time.
    pub fn set(&mut self, due: Instant) -> io::Result<()> {
        if self.set_to == Some(due) {
            return Ok(());
        }
        // A time of zero would switch the timer off.
        let left = due.saturating_duration_since(Instant::now()).as_nanos().max(1);
        let (tv_sec, tv_nsec) = ((left / 1_000_000_000) as i64, (left % 1_000_000_000) as i64);
        let value = Itimerspec { it_interval: Timespec::default(), it_value: Timespec { tv_sec, tv_nsec } };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &value)?;
        self.set_to = Some(due);
        Ok(())
    }
}
