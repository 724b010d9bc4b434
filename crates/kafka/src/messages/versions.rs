//! The negotiation of versions between client and broker.

use super::structure::*;
use crate::api::Api;
use crate::error::ErrorCode;

structures! {
    /// Asks which APIs the broker has. Clients send it first.
    struct ApiVersionsRequest {
        client_software_name: String [3..],
        client_software_version: String [3..],
    }

    /// The broker's table of APIs.
    struct ApiVersionsResponse {
        error_code: i16 [0..],
        api_keys: Vec<ApiVersion> [0..],
        throttle_time_ms: i32 [1..],
    } tagged {
        0 supported_features: Vec<SupportedFeatureKey>,
        /// -1: unknown.
        1 finalized_features_epoch: i64 = -1,
        2 finalized_features: Vec<FinalizedFeatureKey>,
        3 zk_migration_ready: bool,
    }

    /// One API that the broker has.
    struct ApiVersion {
        api_key: i16 [0..],
        min_version: i16 [0..],
        max_version: i16 [0..],
    }

    /// A feature that the broker could use, at which levels.
    struct SupportedFeatureKey {
        name: String [3..],
        min_version: i16 [3..],
        max_version: i16 [3..],
    }

    /// A feature that the cluster uses, at which levels.
    struct FinalizedFeatureKey {
        name: String [3..],
        max_version_level: i16 [3..],
        min_version_level: i16 [3..],
    }
}

impl ApiVersionsResponse {
    /// An API and its versions.
    pub fn advertised() -> ApiVersionsResponse {
        let api_keys = Api::ALL.iter().filter_map(|api| ApiVersion::of(*api)).collect();
        ApiVersionsResponse { api_keys, ..ApiVersionsResponse::default() }
    }

    /// The response to an unsupported version. Write it in version 0, which
    /// clients of all versions read, and has the versions in which they can ask again.
    pub fn unsupported() -> ApiVersionsResponse {
        let api_keys = ApiVersion::of(Api::ApiVersions).into_iter().collect();
        let error_code = ErrorCode::UnsupportedVersion.into();
        ApiVersionsResponse { error_code, api_keys, ..ApiVersionsResponse::default() }
    }
}

impl ApiVersion {
    /// The advertised versions of one API, if any.
    fn of(api: Api) -> Option<ApiVersion> {
        let versions = api.advertised()?;
        Some(ApiVersion { api_key: api.key(), min_version: *versions.start(), max_version: *versions.end() })
    }
}
