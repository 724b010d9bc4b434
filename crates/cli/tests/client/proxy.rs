//! A proxy that counts the connections of clients to a broker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::net::{TcpListener, TcpStream};

/// Forwards the bytes of clients and the broker.
pub struct Proxy {
    address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    open: AtomicUsize,
}

impl Proxy {
    pub async fn start(broker: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, counts) = (listener.local_addr().unwrap(), Arc::new(Counts::default()));
        tokio::spawn(accept(listener, broker, counts.clone()));
        Proxy { address, counts }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Number of connections so far.
    pub fn opened(&self) -> usize {
        self.counts.opened.load(Relaxed)
    }

    /// Number of connections that are open.
    pub fn open(&self) -> usize {
        self.counts.open.load(Relaxed)
    }
}

async fn accept(listener: TcpListener, broker: SocketAddr, counts: Arc<Counts>) {
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        counts.opened.fetch_add(1, Relaxed);
        counts.open.fetch_add(1, Relaxed);
        let counts = counts.clone();
        tokio::spawn(async move {
            // The broker may be down.
            if let Ok(mut far) = TcpStream::connect(broker).await {
                // Otherwise a pipelined request waits for a delayed acknowledgement of the one before.
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
            counts.open.fetch_sub(1, Relaxed);
        });
    }
}
