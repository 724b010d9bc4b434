//! Requests to a bucket, counted as they are billed.

use super::families;
use super::kinds::Counter;
use super::text::Text;

/// A kind of request to a bucket that has its own price.
#[derive(Debug, PartialEq, Eq)]
enum Operation {
    Put,
    List,
    Get,
    Delete,
}

impl Operation {
    /// What a request is billed as: HEAD as GET, the deletion of many objects, a POST, as DELETE.
    fn of(method: &str, query: &str) -> Operation {
        let has = |parameter: &str| query.split('&').any(|found| found == parameter);
        match method {
            // S3's and Google's, then Azure's.
            "GET" if query.contains("list-type=") || has("comp=list") => Operation::List,
            "GET" | "HEAD" => Operation::Get,
            "DELETE" => Operation::Delete,
            "POST" if query.starts_with("delete") || has("comp=batch") => Operation::Delete,
            _ => Operation::Put,
        }
    }
}

/// Requests to a bucket.
pub struct BucketMetrics {
    /// PUT, COPY and POST.
    pub put: Counter,
    /// Listings.
    pub list: Counter,
    /// GET and HEAD.
    pub get: Counter,
    /// Deletions.
    pub delete: Counter,
    /// PUTs and GETs sent a second time because the first was slow; counted in `put` and `get` too.
    hedged_put: Counter,
    hedged_get: Counter,
    pub(crate) sent: Counter,
    pub(crate) received: Counter,
}

impl BucketMetrics {
    pub(super) const fn new() -> Self {
        let new = Counter::new;
        BucketMetrics {
            put: new(),
            list: new(),
            get: new(),
            delete: new(),
            hedged_put: new(),
            hedged_get: new(),
            sent: new(),
            received: new(),
        }
    }

    /// A request with this HTTP method and query is sent.
    pub(crate) fn requested(&self, method: &str, query: &str) {
        let counter = match Operation::of(method, query) {
            Operation::Put => &self.put,
            Operation::List => &self.list,
            Operation::Get => &self.get,
            Operation::Delete => &self.delete,
        };
        counter.add(1);
    }

    /// A slow request is sent a second time.
    pub(crate) fn hedged(&self, is_put: bool) {
        if is_put { &self.hedged_put } else { &self.hedged_get }.add(1);
    }

    pub(super) fn render(&self, text: &mut Text) {
        let BucketMetrics { put, list, get, delete, hedged_put, hedged_get, sent, received } = self;
        let requests = [("put", put), ("list", list), ("get", get), ("delete", delete)];
        let hedges = [("put", hedged_put), ("get", hedged_get)];
        text.counters(&families::BUCKET_REQUESTS, requests.map(|(operation, count)| ([operation], count.get())));
        text.counters(&families::BUCKET_HEDGES, hedges.map(|(operation, count)| ([operation], count.get())));
        text.counter(&families::BUCKET_SENT, sent.get());
        text.counter(&families::BUCKET_RECEIVED, received.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_as_each_service_bills_them() {
        let expected = [
            ("PUT", "", Operation::Put),
            ("GET", "", Operation::Get),
            ("HEAD", "", Operation::Get),
            ("GET", "list-type=2&delimiter=%2F", Operation::List),
            ("GET", "restype=container&comp=list&prefix=comp%3Dbatch", Operation::List),
            ("DELETE", "", Operation::Delete),
            ("POST", "delete=", Operation::Delete),
            ("POST", "restype=container&comp=batch", Operation::Delete),
        ];
        for (method, query, operation) in expected {
            assert_eq!(Operation::of(method, query), operation, "{method} ?{query}");
        }
    }
}
