//! Sends small appends on connections that they share.

use crate::client::Client;
use crate::error::ClientError;
use crate::limits::MOVES_MAX;
use crate::pipeline::{Outcome, Ticket};
use crate::refusal::refused;
use std::time::Duration;

impl Client {
    /// Queues a request on a shared connection. One that `is_ordered` should not overtake earlier ones.
    pub(crate) fn join(&self, request: &[u8], is_ordered: bool) -> Ticket {
        let inner = &self.inner;
        inner.pipelines.join(request, is_ordered, || {
            let inner = inner.clone();
            Box::pin(async move { inner.connect().await })
        })
    }

    /// The text of the response to a request that was queued with this ticket, and the owner of the journal, if the
    /// request was forwarded there. While nothing was sent of it, it moves
    /// to another connection if its own ends.
    pub(crate) async fn shared_text(
        &self,
        request: Vec<u8>,
        ticket: Ticket,
    ) -> Result<(Vec<u8>, Option<String>), ClientError> {
        let exchange = async {
            let mut outcome = ticket.unless_silent().await;
            for _ in 0..MOVES_MAX {
                match outcome {
                    Outcome::Answered(response) if response.status.is_success() => {
                        return Ok((response.text, response.owner));
                    }
                    Outcome::Answered(response) => {
                        return Err(refused(response.status, &response.headers, &response.text));
                    }
                    Outcome::Failed(error) => return Err(error),
                    Outcome::Unsent => outcome = self.join(&request, true).unless_silent().await,
                }
            }
            Err(self.inner.truncated(format!("it closed {MOVES_MAX} connections before a request was sent")))
        };
        self.within(Duration::ZERO, exchange).await
    }
}
