//! Brokers that have the same address: one of them doesn't start, and two that started at the same time own nothing.

use super::{PATIENCE, RAWLINE, client, eventually, live, sees, start_with};
use rawline_client::BrokerState;
use rawline_testkit::process::{run, serve_command};
use rawline_testkit::s3_server::{Bucket, bucket};

const BALANCER: [&str; 2] = ["--advertise", "http://balancer.example:51313"];

/// The output of a broker that doesn't start.
fn refused(bucket: &Bucket, flags: &[&str]) -> String {
    let (storage, cache) = (format!("s3://{}/events", bucket.name), bucket.cache_dir());
    let place = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let mut command = serve_command(RAWLINE, &[&place, flags].concat());
    command.envs(bucket.variables());
    let output = run(command, b"");
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_with_the_address_of_one_that_runs_does_not_start() {
    let bucket = bucket().await;
    let first = start_with(&bucket, &BALANCER, bucket.variables());
    let printed = refused(&bucket, &BALANCER);
    assert!(printed.contains("runs on this storage with the address of this one"), "{printed}");
    assert!(printed.contains("balancer.example:51313") && printed.contains("--advertise"), "{printed}");
    // The one that runs isn't disturbed.
    assert_eq!(sees(&first, 1).await, BALANCER[1]);

    let kafka = ["--kafka", "127.0.0.1:0", "--kafka-advertise", "balancer.example:9092"];
    let _second = start_with(&bucket, &kafka, bucket.variables());
    let printed = refused(&bucket, &kafka);
    assert!(printed.contains("balancer.example:9092 for Kafka's clients"), "{printed}");
}

/// They don't see each other's cards when they start.
#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_begin_with_one_address_at_the_same_time_say_so_and_own_nothing() {
    let bucket = bucket().await;
    let other = |id: &str| {
        // The card of a broker that continues storing it.
        let card = format!(r#"{{"id":"{id}","url":"{}","machine":"m","listen":"l"}}"#, BALANCER[1]);
        std::fs::write(bucket.file(&format!("events/.brokers/{id}.json")), card).unwrap();
    };
    let broker = start_with(&bucket, &BALANCER, bucket.variables());
    let storing = async {
        loop {
            other("00000000000000ab");
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    };
    let looking = async {
        let owns = |owner: bool| {
            let broker = &broker;
            move || async move {
                let brokers = client(broker).brokers().await.unwrap();
                (brokers.iter().any(|one| one.is_me && one.is_owner) == owner).then_some(())
            }
        };
        eventually("it owns the journal", owns(true)).await;
        eventually("it owns nothing", owns(false)).await;
        let line = broker.wait_for_log("This broker owns no journal while both run");
        assert!(line.contains("ERROR") && line.contains("00000000000000ab"), "{line}");
        client(&broker).append_records("t", &[1], vec![7].into()).await.unwrap();
    };
    tokio::select! {
        () = storing => {}
        () = looking => {}
    }
    let owner = eventually("the other one is silent", || async {
        let brokers = client(&broker).brokers().await.unwrap();
        brokers.into_iter().find(|one| one.is_me && one.is_owner)
    });
    tokio::time::timeout(PATIENCE, owner).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_on_loopback_has_no_address_for_brokers_on_other_machines() {
    let bucket = bucket().await;
    std::fs::create_dir_all(bucket.file("events/.brokers")).unwrap();
    let card = r#"{"id":"00000000000000ab","url":"http://127.0.0.1:1","machine":"another","listen":"l"}"#;
    std::fs::write(bucket.file("events/.brokers/00000000000000ab.json"), card).unwrap();
    let broker = start_with(&bucket, &[], bucket.variables());
    assert!(
        broker.printed.contains("a loopback address, at which the brokers on other machines"),
        "{}",
        broker.printed
    );
    let brokers = client(&broker).brokers().await.unwrap();
    let me = brokers.iter().find(|one| one.is_me).unwrap();
    assert!(me.url.is_none() && !me.is_owner, "{me:?}");
    assert!(live(&brokers) > 0 && brokers.iter().any(|one| one.state != BrokerState::Silent), "{brokers:?}");
}
