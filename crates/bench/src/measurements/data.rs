//! Three sets of measurement messages, the same for the same seed: the article's one message, 10,000 series that are
//! Zipf-distributed, and 1,000,000 equally frequent ones.

use fastrand::Rng;

/// Messages, one after the other in memory.
pub struct Messages {
    data: Vec<u8>,
    /// Where each message begins and ends. Places may repeat.
    places: Vec<(u32, u32)>,
    /// Number of series.
    pub series: u32,
}

impl Messages {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn bytes(&self) -> u64 {
        self.places.iter().map(|(begin, end)| u64::from(end - begin)).sum()
    }

    /// Up to `count` messages, starting at number `first`.
    pub fn range(&self, first: usize, count: usize) -> impl Iterator<Item = &[u8]> {
        let end = self.places.len().min(first + count);
        let places = self.places.get(first..end).unwrap_or_default();
        places.iter().map(|&(begin, end)| self.data.get(begin as usize..end as usize).unwrap_or_default())
    }

    /// The message of Agoda's benchmark of its decoder, repeated: 81 bytes, five tags.
    pub fn article(count: usize) -> Self {
        let mut data = Vec::new();
        text(&mut data, "metric.name");
        long(&mut data, 5);
        for n in [1, 4, 5, 2, 3] {
            text(&mut data, &format!("tag{n}"));
            text(&mut data, &format!("value{n}"));
        }
        data.push(0);
        long(&mut data, 1_600_000_000_000);
        long(&mut data, 1);
        let places = vec![(0, data.len() as u32); count];
        Self { data, places, series: 1 }
    }

    /// Messages of `series` series with five tags each, drawn with a probability of 1 / rank.
    pub fn zipf(series: u32, count: usize, seed: u64) -> Self {
        let mut sums = Vec::with_capacity(series as usize);
        let mut sum = 0.0;
        for rank in 1..=series {
            sum += 1.0 / f64::from(rank);
            sums.push(sum);
        }
        Self::drawn(series, count, seed, |random| {
            let drawn = random.f64() * sum;
            (sums.partition_point(|sum| *sum < drawn) as u32).min(series - 1)
        })
    }

    /// Messages of `series` series with five tags each, all equally probable, so that caches don't help.
    pub fn uniform(series: u32, count: usize, seed: u64) -> Self {
        Self::drawn(series, count, seed, |random| random.u32(..series))
    }

    fn drawn(series: u32, count: usize, seed: u64, mut draw: impl FnMut(&mut Rng) -> u32) -> Self {
        let mut random = Rng::with_seed(seed);
        let mut ranks: Vec<u32> = (0..series).collect();
        random.shuffle(&mut ranks);
        let mut data = Vec::with_capacity(count * 112);
        let mut places = Vec::with_capacity(count);
        let mut time_ms = 1_600_000_000_000;
        for _ in 0..count {
            let begin = data.len() as u32;
            let rank = draw(&mut random) as usize;
            identity(&mut data, ranks.get(rank).copied().unwrap_or_default(), seed);
            time_ms += random.i64(0..20);
            long(&mut data, time_ms - random.i64(0..60_000));
            // One to six bytes, each length equally often.
            let bits = random.u32(1..41);
            long(&mut data, random.i64(0..1 << bits));
            places.push((begin, data.len() as u32));
        }
        Self { data, places, series }
    }
}

const METRICS: [&str; 8] = [
    "http.server.requests",
    "cpu.usage",
    "jvm.gc.pause",
    "db.pool.active",
    "cache.hit.ratio",
    "kafka.consumer.lag",
    "disk.read.bytes",
    "booking.created",
];
const CENTERS: [&str; 4] = ["sgp", "hkg", "ams", "ash"];
const SERVICES: [&str; 6] = ["search", "booking-api", "pricing", "content", "payment-gw", "mobile-bff"];

/// Metric and tags of series `n`. The order of the tags is one of 120, as in a hash map, and the same for each message
/// of a series.
fn identity(data: &mut Vec<u8>, n: u32, seed: u64) {
    let of = |all: &'static [&'static str], part: u32| all.get(part as usize % all.len()).copied().unwrap_or_default();
    let center = of(&CENTERS, n / 8);
    let server = format!("{center}-{:05}", n / 32);
    let version = format!("{}.{}.0", n % 9, n % 30);
    let mut tags = [
        ("server", server.as_str()),
        ("dc", center),
        ("service", of(&SERVICES, n / 32)),
        ("env", if n.is_multiple_of(17) { "staging" } else { "prod" }),
        ("version", &version),
    ];
    Rng::with_seed(seed ^ u64::from(n) << 8).shuffle(&mut tags);
    text(data, of(&METRICS, n));
    long(data, tags.len() as i64);
    for (key, value) in tags {
        text(data, key);
        text(data, value);
    }
    data.push(0);
}

fn text(data: &mut Vec<u8>, text: &str) {
    long(data, text.len() as i64);
    data.extend_from_slice(text.as_bytes());
}

fn long(data: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        data.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    data.push(rest as u8);
}
