//! Anything on a port that speaks TLS: it costs a connection, never the broker.

use crate::certificates::Authority;
use crate::handshakes::kafka_address;
use crate::{broker, client, wire};
use std::io::Write;

/// A mutation of the beginning of a handshake, or bytes without any sense.
fn garbage(random: &mut fastrand::Rng, hello: &[u8]) -> Vec<u8> {
    match random.u8(..5) {
        0 => {
            let mut bytes = vec![0; random.usize(1..5000)];
            random.fill(&mut bytes);
            bytes
        }
        1 => {
            let mut bytes = hello.to_vec();
            for _ in 0..random.usize(1..8) {
                let place = random.usize(..bytes.len());
                bytes[place] = random.u8(..);
            }
            bytes
        }
        2 => hello[..random.usize(1..hello.len())].to_vec(),
        // A record of a handshake with a message that claims 16 MiB.
        3 => [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &vec![random.u8(..); 20_000]].concat(),
        _ => {
            // Records of every type after a good beginning.
            let mut bytes = hello.to_vec();
            for _ in 0..random.usize(1..20) {
                let length = random.usize(..300);
                bytes.extend([random.u8(18..26), 3, 3]);
                bytes.extend((length as u16).to_be_bytes());
                let mut content = vec![0; length];
                random.fill(&mut content);
                bytes.extend(content);
            }
            bytes
        }
    }
}

#[tokio::test]
async fn garbage_on_a_tls_port_costs_a_connection_and_never_the_broker() {
    let authority = Authority::new();
    let mut broker = broker(&authority, &["--kafka", "127.0.0.1:0"]);
    let kafka = kafka_address(&broker.printed);
    let hello = wire::client_hello();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for number in 0..300 {
        let mut stream = wire::plain(if number % 2 == 0 { broker.address } else { kafka });
        // The broker may have closed it.
        let _ = stream.write_all(&garbage(&mut random, &hello));
        if number % 10 == 0 {
            // Not only bytes that are sent before an immediate close.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            wire::exchange(&mut stream, b"");
        }
    }
    let client = client(&broker.url(), &authority);
    client.append_records("t", &[1], vec![7].into()).await.unwrap();
    assert!(broker.is_running());
}
