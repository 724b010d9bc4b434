//! Explains a failed request to the operator.

use super::bucket::Bucket;
use super::connect::words;
use super::failed::Failed;
use crate::store_error::{Setting, StoreError};
use object_store::path::Path;

/// Error codes for a bucket that doesn't exist.
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

impl Bucket {
    /// Explains what failed, why, and what to do.
    pub(super) fn explain(&self, verb: &str, path: &Path, failed: &Failed) -> StoreError {
        let (endpoint, bucket) = (&self.endpoint, &self.address.bucket);
        let failure = format!("can't {verb} {} at {endpoint}", self.url(path));
        let reply = failed.reply();
        let text = reply.short();
        if reply.has_code(&NO_BUCKET) {
            let message = format!("{failure}: bucket {bucket:?} does not exist; create it or use another ({text})");
            return StoreError::human(message).about(Setting::Storage);
        }
        let words = words(self.address.service);
        let advice = (words.advice)(reply.code.as_deref().unwrap_or_default(), &reply);
        let advice = match (advice, failed) {
            (Some(advice), _) => advice,
            (None, Failed::Denied(_)) => words.access_denied,
            (None, Failed::ForGood(_) | Failed::Missing(_)) => "check the bucket",
            (None, Failed::Exists { .. } | Failed::Passing(_) | Failed::TimedOut) => {
                let retried = reply.retried.map(|retried| format!("; gave up after {:.1} s", retried.as_secs_f64()));
                let retried = retried.unwrap_or_default();
                return StoreError::wait(format!(
                    "{failure}: {text}{retried}: check the server and the network, then retry"
                ));
            }
        };
        StoreError::human(format!("{failure}: {advice} ({text})"))
    }
}
