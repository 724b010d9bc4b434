//! Google Cloud Storage.

use super::service::{ClientSettings, Connected, Credentials, Variables, Words};
use crate::store::s3::failed::Reply;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use std::sync::Arc;

pub(super) const WORDS: Words = Words {
    variables: "GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT, GOOGLE_SERVICE_ACCOUNT_KEY and \
                STORAGE_EMULATOR_HOST",
    no_credentials: "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account's key, log in with `gcloud \
                     auth application-default login`, or give this machine a service account; getting a token failed",
    access_denied: "access is denied; the account needs storage.objects.list, get, create and delete on the bucket, as \
                    the role Storage Object User has them",
    server: "server",
    condition: "x-goog-if-generation-match: 0",
    instead: "Google Cloud Storage, or an emulator that has the condition in its XML API",
    create_empty: |bucket, key| format!("gcloud storage cp - gs://{bucket}/{key} < /dev/null"),
    advice,
};

/// Where requests are sent unless a variable says otherwise.
const ENDPOINT: &str = "https://storage.googleapis.com";

/// Variables with credentials, or with the place where they are.
const CREDENTIALS: [&str; 6] = [
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_BEARER_TOKEN",
    "SERVICE_ACCOUNT",
];

pub(super) fn connect(client: &ClientSettings<'_>) -> object_store::Result<Connected> {
    let variables = client.variables;
    let endpoint = endpoint(variables);
    // An emulator accepts any token, and a machine that has one need not have an account.
    let is_emulator = endpoint != ENDPOINT && variables.first(&CREDENTIALS).is_none();
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_http_connector(client.connector(&endpoint))
        .with_client_options(client.options(&endpoint, is_emulator));
    for (key, value) in variables.known::<GoogleConfigKey>("GOOGLE_") {
        builder = builder.with_config(key, value);
    }
    if let Some(path) = variables.first(&["SERVICE_ACCOUNT"]) {
        builder = builder.with_service_account_path(path);
    }
    if is_emulator {
        builder = builder.with_bearer_token("emulator");
    }
    let builder = builder.with_bucket_name(&client.address.bucket).with_base_url(&endpoint);
    let store = Arc::new(builder.with_retry(client.retry()).build()?);
    let credentials = Credentials::Gcs(store.credentials().clone());
    Ok(Connected { pages: store.clone(), store, has_start_after: true, endpoint, credentials })
}

/// `STORAGE_EMULATOR_HOST` is what Google's own clients know. It may lack the scheme.
fn endpoint(variables: Variables<'_>) -> String {
    match variables.first(&["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"]) {
        Some(url) if url.contains("://") => url.trim_end_matches('/').to_owned(),
        Some(host) => format!("http://{}", host.trim_end_matches('/')),
        None => ENDPOINT.to_owned(),
    }
}

fn advice(code: &str, reply: &Reply) -> Option<&'static str> {
    Some(match code {
        "AuthenticationRequired" | "InvalidSecurity" | "ExpiredToken" => {
            "the credentials are unknown or have expired; correct GOOGLE_APPLICATION_CREDENTIALS or \
             GOOGLE_SERVICE_ACCOUNT"
        }
        "UserProjectAccountProblem" | "AccountProblem" | "UserProjectMissing" => {
            "the bucket's project can't be billed; correct that in Google's console"
        }
        "AccessDenied" => WORDS.access_denied,
        _ if reply.status == Some(401) => {
            "the credentials are unknown or have expired; correct GOOGLE_APPLICATION_CREDENTIALS or \
             GOOGLE_SERVICE_ACCOUNT"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulators_host_may_lack_the_scheme() {
        let of = |name: &str, value: &str| endpoint(Variables(&[(name.to_owned(), value.to_owned())]));
        assert_eq!(of("STORAGE_EMULATOR_HOST", "localhost:4443"), "http://localhost:4443");
        assert_eq!(of("STORAGE_EMULATOR_HOST", "http://localhost:4443/"), "http://localhost:4443");
        assert_eq!(of("GOOGLE_BASE_URL", "https://example.com"), "https://example.com");
        assert_eq!(of("STORAGE_EMULATOR_HOST", ""), ENDPOINT);
    }
}
