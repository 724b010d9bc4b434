//! Brokers with a commit thread and without one.

use rawline_broker::CommitThread;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::{PATIENT, Served};
use rawline_testkit::stores::in_memory;

pub async fn server(has_commit_thread: bool) -> Served {
    Served::on(in_memory(), config(has_commit_thread), 64 << 20).await
}

pub fn config(has_commit_thread: bool) -> HttpConfig {
    let commit_thread = has_commit_thread.then(|| CommitThread::start().unwrap());
    HttpConfig { waits: PATIENT, commit_thread, ..HttpConfig::default() }
}

/// Two tests of each of these functions: of a broker without a commit thread, and of one with it.
macro_rules! with_and_without_a_commit_thread {
    ($($name:ident)*) => {$(
        mod $name {
            #[tokio::test]
            async fn without_a_commit_thread() {
                super::$name(crate::commit_thread::server(false).await).await;
            }

            #[tokio::test]
            async fn with_a_commit_thread() {
                super::$name(crate::commit_thread::server(true).await).await;
            }
        }
    )*};
}
