//! Lists a folder, page by page.
//!
//! A directory bucket (S3 Express One Zone) lists keys in any order and can't begin after a key, so no caller relies on
//! either: `after` only saves pages.

use super::bucket::Bucket;
use super::date::ResponseDate;
use super::failed::{Failed, Reply};
use crate::store::Dated;
use crate::store_error::StoreError;
use object_store::ObjectMeta;
use object_store::list::PaginatedListOptions;
use object_store::path::{DELIMITER, Path};
use tokio::time::timeout;

impl Bucket {
    /// The keys of a folder in any order, without those of folders in it, and the store's time when the listing began.
    /// Those up to the key `after` may be missing.
    pub(super) async fn list(&self, folder: &Path, after: Option<&Path>) -> Result<Dated<Vec<ObjectMeta>>, StoreError> {
        let prefix = format!("{folder}{DELIMITER}");
        let offset = after.filter(|_| self.has_start_after).map(Path::to_string);
        let (mut keys, mut date, mut page_token) = (Vec::new(), None, None);
        loop {
            let options = PaginatedListOptions {
                offset: offset.clone(),
                delimiter: Some(DELIMITER.into()),
                page_token: page_token.clone(),
                ..PaginatedListOptions::default()
            };
            let listed = timeout(self.request_timeout, self.pages.list_paginated(Some(&prefix), options)).await;
            let listed = listed.map_err(|_| Failed::TimedOut).and_then(|listed| listed.map_err(Failed::from));
            let page = listed.map_err(|failed| self.explain("list", folder, &failed))?;
            date = date.or_else(|| page.result.extensions.get::<ResponseDate>().map(|date| date.0));
            // A page may be empty and have a next one.
            keys.extend(page.result.objects);
            let next = page.page_token.filter(|token| !token.is_empty());
            if next.is_none() {
                return self.dated(folder, keys, date);
            }
            if next == page_token {
                let failed = Failed::ForGood(Reply::new("the listing returns the same page again and again"));
                return Err(self.explain("list", folder, &failed));
            }
            page_token = next;
        }
    }
}
