//! Azure Blob Storage.

use super::service::{ClientSettings, Connected, Credentials, Variables, Words};
use crate::store::s3::failed::Reply;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use std::sync::Arc;

pub(super) const WORDS: Words = Words {
    variables: "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_CONNECTION_STRING",
    no_credentials: "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_CONNECTION_STRING, or AZURE_CLIENT_ID, \
                     AZURE_CLIENT_SECRET and AZURE_TENANT_ID, or give this machine a managed identity; getting a token \
                     failed",
    access_denied: "access is denied; the account needs to list, read, write and delete blobs of the container, as the \
                    role Storage Blob Data Contributor allows",
    server: "server",
    condition: "If-None-Match: *",
    instead: "Azure Blob Storage, or Azurite as its emulator",
    create_empty: |bucket, key| format!("az storage blob upload -c {bucket} -n {key} -f /dev/null"),
    advice,
};

const WRONG_KEY: &str = "the key is not that of the account; correct AZURE_STORAGE_ACCOUNT_NAME and \
                         AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_CONNECTION_STRING";

const FIREWALL: &str = "access is denied; correct AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or allow \
                        this machine in the account's firewall";

/// The account that every emulator has. Its key is published.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10000/devstoreaccount1";

/// What variables say of an account.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    name: Option<String>,
    key: Option<String>,
    /// A shared access signature.
    signature: Option<String>,
    endpoint: Option<String>,
}

pub(super) fn connect(client: &ClientSettings<'_>) -> object_store::Result<Connected> {
    let variables = client.variables;
    let account = Account::of(variables);
    let endpoint = match (&account.endpoint, &account.name) {
        (Some(endpoint), _) => endpoint.clone(),
        (None, Some(name)) => format!("https://{name}.blob.core.windows.net"),
        // Then there is no client either.
        (None, None) => String::new(),
    };
    let has_credentials = account.key.is_some() || account.signature.is_some();
    let mut builder = MicrosoftAzureBuilder::new()
        .with_http_connector(client.connector(&endpoint))
        .with_client_options(client.options(&endpoint, has_credentials));
    for (key, value) in variables.known("AZURE_") {
        // An emulator is an account like others.
        if key != AzureConfigKey::UseEmulator {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(url) = variables.first(&["IDENTITY_ENDPOINT"]) {
        builder = builder.with_config(AzureConfigKey::MsiEndpoint, url);
    }
    let settings = [
        (AzureConfigKey::AccountName, account.name),
        (AzureConfigKey::AccessKey, account.key),
        (AzureConfigKey::SasKey, account.signature),
        (AzureConfigKey::Endpoint, Some(endpoint.clone()).filter(|endpoint| !endpoint.is_empty())),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    let store = Arc::new(builder.with_container_name(&client.address.bucket).with_retry(client.retry()).build()?);
    let credentials = Credentials::Azure(store.credentials().clone());
    // Only recent versions of the service have it, and no emulator.
    let has_start_after = false;
    Ok(Connected { pages: store.clone(), store, has_start_after, endpoint, credentials })
}

impl Account {
    /// Single variables count before the connection string.
    fn of(variables: Variables<'_>) -> Account {
        let first = |names: &[&str]| variables.first(names).map(str::to_owned);
        let is_emulator = variables.first(&["AZURE_STORAGE_USE_EMULATOR"]).is_some_and(|value| value == "true");
        let connection = match variables.first(&["AZURE_STORAGE_CONNECTION_STRING"]) {
            _ if is_emulator => Account::emulator(),
            Some(connection) => Account::parse(connection),
            None => Account::default(),
        };
        Account {
            name: first(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]).or(connection.name),
            key: first(&["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCESS_KEY"])
                .or(connection.key),
            signature: first(&["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"]).or(connection.signature),
            endpoint: first(&["AZURE_STORAGE_BLOB_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"])
                .or(connection.endpoint)
                .map(|endpoint| endpoint.trim_end_matches('/').to_owned()),
        }
    }

    fn emulator() -> Account {
        Account {
            name: Some(EMULATOR_ACCOUNT.to_owned()),
            key: Some(EMULATOR_KEY.to_owned()),
            signature: None,
            endpoint: Some(EMULATOR_ENDPOINT.to_owned()),
        }
    }

    /// Reads a connection string: `NAME=VALUE`, separated by semicolons.
    fn parse(connection: &str) -> Account {
        let value = |wanted: &str| {
            let mut members = connection.split(';').filter_map(|member| member.trim().split_once('='));
            members.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.to_owned())
        };
        if value("UseDevelopmentStorage").is_some_and(|value| value == "true") {
            return Account::emulator();
        }
        let name = value("AccountName");
        let endpoint = value("BlobEndpoint").or_else(|| {
            let scheme = value("DefaultEndpointsProtocol").unwrap_or_else(|| "https".to_owned());
            Some(format!("{scheme}://{}.blob.{}", name.as_ref()?, value("EndpointSuffix")?))
        });
        Account { name, key: value("AccountKey"), signature: value("SharedAccessSignature"), endpoint }
    }
}

fn advice(code: &str, _: &Reply) -> Option<&'static str> {
    Some(match code {
        "AuthenticationFailed" | "InvalidAuthenticationInfo" | "NoAuthenticationInformation" => WRONG_KEY,
        "AccountIsDisabled" => "the storage account is disabled; enable it",
        "AuthorizationFailure" => FIREWALL,
        "AuthorizationPermissionMismatch"
        | "InsufficientAccountPermissions"
        | "AuthorizationServiceMismatch"
        | "AuthorizationResourceTypeMismatch" => WORDS.access_denied,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Account {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Account::of(Variables(&pairs))
    }

    #[test]
    fn an_account_is_read_from_the_variables_that_azures_tools_know() {
        let account = Account { name: Some("a".into()), key: Some("k==".into()), ..Account::default() };
        assert_eq!(of(&[("AZURE_STORAGE_ACCOUNT_NAME", "a"), ("AZURE_STORAGE_ACCOUNT_KEY", "k==")]), account);
        assert_eq!(of(&[("AZURE_STORAGE_ACCOUNT", "a"), ("AZURE_STORAGE_KEY", "k==")]), account);
        let connection = "AccountName=a;AccountKey=k==";
        assert_eq!(of(&[("AZURE_STORAGE_CONNECTION_STRING", connection)]), account);
        let connection = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k==;EndpointSuffix=core.windows.net;";
        let endpoint = Some("https://a.blob.core.windows.net".to_owned());
        assert_eq!(of(&[("AZURE_STORAGE_CONNECTION_STRING", connection)]), Account { endpoint, ..account });
        let connection = "BlobEndpoint=https://x.example/;SharedAccessSignature=sv=1&sig=2";
        let account = of(&[("AZURE_STORAGE_CONNECTION_STRING", connection), ("AZURE_STORAGE_ACCOUNT", "b")]);
        let endpoint = Some("https://x.example".to_owned());
        assert_eq!(
            account,
            Account { name: Some("b".into()), key: None, signature: Some("sv=1&sig=2".into()), endpoint }
        );
        assert_eq!(of(&[]), Account::default());
    }

    #[test]
    fn an_emulator_is_an_account_with_a_published_key() {
        assert_eq!(of(&[("AZURE_STORAGE_USE_EMULATOR", "true")]), Account::emulator());
        let connection = ("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true");
        assert_eq!(of(&[connection]), Account::emulator());
        let elsewhere = of(&[connection, ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:1/devstoreaccount1")]);
        assert_eq!(elsewhere.endpoint.as_deref(), Some("http://127.0.0.1:1/devstoreaccount1"));
    }
}
