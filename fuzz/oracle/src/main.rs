//! Writes the golden bytes: `make kafka-vectors`.

fn main() {
    let folder = rawline_kafka_oracle::vectors::folder();
    std::fs::create_dir_all(&folder).expect("vectors/kafka");
    for (name, text) in rawline_kafka_oracle::vectors::files() {
        std::fs::write(folder.join(&name), text).expect("a file of vectors");
        println!("{name}");
    }
}
