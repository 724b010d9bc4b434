//! Clients and a broker behind a proxy that terminates TLS.

use crate::support::{self, rawline, run};
use rawline_client::{Client, ClientConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// Terminates TLS for a broker until it is dropped, with a certificate for `localhost` from its own authority.
struct Proxy {
    port: u16,
    authority: PathBuf,
    /// Number of connections whose client trusts it.
    opened: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl Proxy {
    fn start(broker: SocketAddr) -> Proxy {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));

        let directory = tempfile::tempdir().unwrap();
        let authority_file = directory.path().join("authority.pem");
        std::fs::write(&authority_file, authority.pem()).unwrap();

        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("localhost:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = opened.clone();
        runtime.spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (acceptor, counted) = (acceptor.clone(), counted.clone());
                tokio::spawn(async move {
                    // A client that doesn't trust the certificate disconnects here.
                    let Ok(mut client) = acceptor.accept(socket).await else { return };
                    counted.fetch_add(1, Relaxed);
                    let mut broker = TcpStream::connect(broker).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut broker).await;
                });
            }
        });
        Proxy { port, authority: authority_file, opened, _runtime: runtime, _directory: directory }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }
}

#[test]
fn records_go_through_tls_and_come_back() {
    let broker = support::broker(&[]);
    let proxy = Proxy::start(broker.address);
    // More than one response, each long enough to be read without the HTTP library.
    let lines: Vec<u8> = (0..1_000_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let command = |args: &[&str]| {
        let mut command = rawline(&proxy.url("localhost"), args);
        command.env("SSL_CERT_FILE", &proxy.authority);
        command
    };
    let produced = run(command(&["produce", "numbers"]), &lines);
    assert!(produced.status.success(), "{}", String::from_utf8_lossy(&produced.stderr));
    let consumed = run(command(&["consume", "numbers"]), b"");
    assert!(consumed.status.success(), "{}", String::from_utf8_lossy(&consumed.stderr));
    assert!(consumed.stdout == lines, "{} bytes for {}", consumed.stdout.len(), lines.len());
}

#[test]
fn a_certificate_that_is_not_trusted_is_refused_at_once() {
    let broker = support::broker(&[]);
    let proxy = Proxy::start(broker.address);
    let other = Proxy::start(broker.address);
    // Signed by another authority, and for another name.
    for (host, authority, words) in
        [("localhost", &other.authority, "SSL_CERT_FILE"), ("127.0.0.1", &proxy.authority, "for this name")]
    {
        let mut command = rawline(&proxy.url(host), &["consume", "numbers"]);
        command.env("SSL_CERT_FILE", authority);
        let output = run(command, b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("no TLS connection to") && said.contains(words), "{said}");
    }
}

/// Run by the next test, with the proxy's address and the certificates to trust. The clock stands still, so no response
/// is slow, however busy the machine is: paused time advances only while no blocking work runs.
#[ignore = "needs a broker"]
#[tokio::test(start_paused = true)]
async fn child_appends_together() {
    let (stopped, is_stopped) = std::sync::mpsc::channel::<()>();
    let _clock = tokio::task::spawn_blocking(move || is_stopped.recv());
    let client = Client::new(ClientConfig::new(std::env::var(CHILDS_BROKER).unwrap())).unwrap();
    let tasks = (0..60).map(|number: u64| {
        let client = client.clone();
        tokio::spawn(async move {
            client.append_records("t", &[8], number.to_le_bytes().to_vec().into()).await.unwrap().first_offset
        })
    });
    // In the order of the calls.
    for (number, task) in (0..).zip(tasks.collect::<Vec<_>>()) {
        assert_eq!(task.await.unwrap(), number);
    }
    drop(stopped);
}

const CHILDS_BROKER: &str = "TEST_BROKER";

#[test]
fn small_appends_share_a_tls_connection() {
    let broker = support::broker(&[]);
    let proxy = Proxy::start(broker.address);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "proxy::child_appends_together"]);
    child.env(CHILDS_BROKER, proxy.url("localhost")).env("SSL_CERT_FILE", &proxy.authority);
    let output = run(child, b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");

    assert_eq!(proxy.opened.load(Relaxed), 1);
}
