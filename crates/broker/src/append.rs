//! Append: hands batches to the task that owns the topic's end, and waits for their commit.

use crate::commit::{Append, AppendError, Appended};
use crate::limits::OBJECT_BATCHES_MAX;
use crate::received::Received;
use crate::topic::Topic;
use tokio::sync::{mpsc, oneshot};

impl Topic {
    /// Appends batches; answers when the store has confirmed them. They are stored even if the caller goes away
    /// meanwhile.
    pub async fn append(&self, received: Received) -> Result<Appended, AppendError> {
        if received.batches.len() > OBJECT_BATCHES_MAX || received.bytes() > self.object_bytes_max {
            return Err(AppendError::TooLarge { bytes: received.bytes(), batches: received.batches.len() });
        }
        let (answer, answered) = oneshot::channel();
        self.inbox.try_send(Append { received, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => AppendError::Busy,
            mpsc::error::TrySendError::Closed(_) => AppendError::Closed,
        })?;
        answered.await.map_err(|_| AppendError::Closed)?
    }
}
