//! Runs jobs on all cores and returns their results in the order of the jobs, with a bounded number of them at a time.

use std::collections::VecDeque;
use tokio::task::JoinHandle;

/// Size at which the input of a job is complete, in bytes: large against the cost of starting a job, and small enough
/// to stay in a core's cache.
pub const JOB_BYTES: usize = 128 << 10;

/// Jobs for each core that run or have a result: one runs while the result of another is used.
const JOBS_PER_CORE: usize = 2;

/// The jobs whose results were not returned.
pub struct Ordered<T> {
    jobs: VecDeque<JoinHandle<T>>,
    jobs_max: usize,
}

impl<T: Send + 'static> Ordered<T> {
    pub fn new() -> Ordered<T> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ordered { jobs: VecDeque::new(), jobs_max: cores * JOBS_PER_CORE }
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether another job can be started.
    pub fn has_room(&self) -> bool {
        self.jobs.len() < self.jobs_max
    }

    /// Starts a job.
    pub fn push(&mut self, job: impl FnOnce() -> T + Send + 'static) {
        assert!(self.has_room(), "{} jobs run, the maximum", self.jobs.len());
        self.jobs.push_back(tokio::task::spawn_blocking(job));
    }

    /// Waits for the oldest job and returns its result; `None` without a job. Can be dropped while it waits.
    pub async fn next(&mut self) -> Option<T> {
        let result = self.jobs.front_mut()?.await;
        self.jobs.pop_front();
        Some(result.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => unreachable!("a job is never cancelled: {error}"),
        }))
    }

    /// Forgets all jobs and their results.
    pub fn clear(&mut self) {
        self.jobs.clear();
    }
}

/// Byte strings, concatenated in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Slices {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Slices {
    pub fn push(&mut self, slice: &[u8]) {
        self.bytes.extend_from_slice(slice);
        self.ends.push(self.bytes.len());
    }

    /// Adds what `write` appends to the buffer, unless it returns an error or `None`, when it appends nothing.
    pub fn push_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<Option<()>, E>) -> Result<Option<()>, E> {
        let begin = self.bytes.len();
        let written = write(&mut self.bytes);
        match written {
            Ok(Some(())) => self.ends.push(self.bytes.len()),
            _ => self.bytes.truncate(begin),
        }
        written
    }

    /// Whether they are enough for a job.
    pub fn fill_a_job(&self) -> bool {
        self.bytes.len() >= JOB_BYTES
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| match self.bytes.get(begin..*end) {
            Some(slice) => slice,
            None => unreachable!("{begin}..{end} of {} bytes", self.bytes.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn results_come_in_the_order_of_their_jobs() {
        let mut jobs = Ordered::new();
        let (mut begun, mut results) = (0_u64, Vec::new());
        while results.len() < 100 {
            while begun < 100 && jobs.has_room() {
                let number = begun;
                jobs.push(move || {
                    // Every third job takes longer than those after it.
                    std::thread::sleep(Duration::from_millis(if number % 3 == 0 { 5 } else { 0 }));
                    number
                });
                begun += 1;
            }
            // A wait that is given up loses no result.
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_micros(100)) => {}
                result = jobs.next() => results.extend(result),
            }
        }
        assert_eq!(results, (0..100).collect::<Vec<_>>());
        assert!(jobs.is_empty() && jobs.next().await.is_none());
    }

    #[test]
    fn slices_are_returned_as_they_were_added() {
        let mut slices = Slices::default();
        slices.push(b"a");
        slices.push(b"");
        let failed = slices.push_with(|out| {
            out.extend_from_slice(b"half");
            Err("wrong")
        });
        assert_eq!(failed, Err("wrong"));
        slices.push(b"bc");
        assert_eq!(slices.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
    }
}
