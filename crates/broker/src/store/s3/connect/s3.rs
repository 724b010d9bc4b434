//! Amazon S3, and servers with its API.

use super::service::{ClientSettings, Connected, Credentials, Words};
use crate::store::s3::failed::Reply;
use object_store::aws::{AmazonS3Builder, Checksum, S3ConditionalPut};
use std::sync::Arc;

pub(super) const WORDS: Words = Words {
    variables: "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
    no_credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles in files are not read), or give this \
                     machine a role; getting its role failed",
    access_denied: "access is denied; the key needs s3:ListBucket on the bucket and s3:GetObject, s3:PutObject and \
                    s3:DeleteObject on its objects, or s3express:CreateSession on a directory bucket",
    server: "S3 server",
    condition: "If-None-Match: *",
    instead: "Amazon S3, MinIO, Cloudflare R2, Ceph or another that supports conditional writes, in a recent version",
    create_empty: |bucket, key| format!("aws s3 cp - s3://{bucket}/{key} < /dev/null"),
    advice,
};

const WRONG_REGION: &str = "the bucket is in another region; correct AWS_REGION";

pub(super) fn connect(client: &ClientSettings<'_>) -> object_store::Result<Connected> {
    let variables = client.variables;
    let endpoint = variables.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
    let region = variables.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or("us-east-1");
    let bucket = &client.address.bucket;
    let zone = client.address.zone();
    let mut connector = client.connector(endpoint.unwrap_or_default());
    let endpoint = match (endpoint, zone) {
        (Some(endpoint), zone) => {
            // `object_store` takes the endpoint for all requests but this one.
            connector.sessions = zone.and_then(|_| format!("{endpoint}/{bucket}?session").parse().ok());
            endpoint.to_owned()
        }
        (None, Some(zone)) => format!("https://{bucket}.s3express-{zone}.{region}.amazonaws.com"),
        (None, None) => format!("https://s3.{region}.amazonaws.com"),
    };
    connector.endpoint.clone_from(&endpoint);
    // The payload is not signed: that would be a SHA-256 over each commit, on the caller's thread. It is protected by
    // TLS and by the checksum, which the store compares before it stores.
    let mut builder = AmazonS3Builder::new()
        .with_unsigned_payload(true)
        .with_checksum_algorithm(Checksum::CRC64NVME)
        .with_http_connector(connector)
        .with_client_options(client.options(&endpoint, variables.first(&["AWS_ACCESS_KEY_ID"]).is_some()));
    for (key, value) in variables.known("AWS_") {
        builder = builder.with_config(key, value);
    }
    let builder = builder.with_bucket_name(bucket).with_region(region).with_s3_express(zone.is_some());
    let builder = builder.with_conditional_put(S3ConditionalPut::ETagMatch).with_retry(client.retry());
    let store = Arc::new(builder.build()?);
    let credentials = Credentials::S3(store.credentials().clone());
    Ok(Connected { pages: store.clone(), store, has_start_after: zone.is_none(), endpoint, credentials })
}

fn advice(code: &str, reply: &Reply) -> Option<&'static str> {
    Some(match code {
        "SignatureDoesNotMatch" => "the secret key is wrong; correct AWS_SECRET_ACCESS_KEY",
        "InvalidAccessKeyId" | "UserNotFound" | "XAdminUserNotFound" | "InvalidToken" | "ExpiredToken" => {
            "the access key is unknown or has expired; correct AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN"
        }
        "RequestTimeTooSkewed" => "this machine's clock is wrong; set it",
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect" => WRONG_REGION,
        _ if matches!(reply.status, Some(301 | 302 | 307 | 308)) => WRONG_REGION,
        "NotImplemented" => {
            "this S3 server has no conditional writes (If-None-Match), which Rawline needs; use one that has them"
        }
        "AccessDenied" => WORDS.access_denied,
        _ => return None,
    })
}
