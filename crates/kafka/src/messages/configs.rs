//! Settings of topics and brokers.

use super::structure::*;

structures! {
    /// Asks for settings.
    struct DescribeConfigsRequest {
        resources: Vec<DescribeConfigsResource> [0..],
        include_synonyms: bool [1..],
        include_documentation: bool [3..],
    }

    /// A requested topic or broker.
    struct DescribeConfigsResource {
        /// 2: a topic, 4: a broker.
        resource_type: i8 [0..],
        resource_name: String [0..],
        /// `None`: all.
        configuration_keys: Option<Vec<String>> [0..],
    }

    /// The requested settings.
    struct DescribeConfigsResponse {
        throttle_time_ms: i32 [0..],
        results: Vec<DescribeConfigsResult> [0..],
    }

    /// The settings of one topic or broker.
    struct DescribeConfigsResult {
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        resource_type: i8 [0..],
        resource_name: String [0..],
        configs: Vec<DescribeConfigsResourceResult> [0..],
    }

    /// One setting.
    struct DescribeConfigsResourceResult {
        name: String [0..],
        value: Option<String> [0..],
        read_only: bool [0..],
        /// 1: the topic, 4: the broker's file, 5: the default.
        config_source: i8 [1..] = -1,
        is_sensitive: bool [0..],
        synonyms: Vec<DescribeConfigsSynonym> [1..],
        /// 1: flag, 2: text, 3: i32, 4: i16, 5: i64, 6: f64, 7: list, 8: class, 9: secret.
        config_type: i8 [3..],
        documentation: Option<String> [3..],
    }

    /// Another name that the value could come from.
    struct DescribeConfigsSynonym {
        name: String [1..],
        value: Option<String> [1..],
        source: i8 [1..],
    }

    /// Replaces all settings.
    struct AlterConfigsRequest {
        resources: Vec<AlterConfigsResource> [0..],
        validate_only: bool [0..],
    }

    /// The settings of one topic or broker.
    struct AlterConfigsResource {
        /// 2: a topic, 4: a broker.
        resource_type: i8 [0..],
        resource_name: String [0..],
        configs: Vec<AlterableConfig> [0..],
    }

    /// One setting.
    struct AlterableConfig {
        name: String [0..],
        value: Option<String> [0..],
    }

    /// Which settings were replaced.
    struct AlterConfigsResponse {
        throttle_time_ms: i32 [0..],
        responses: Vec<AlterConfigsResourceResponse> [0..],
    }

    /// Whether the settings of one topic or broker were changed.
    struct AlterConfigsResourceResponse {
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        resource_type: i8 [0..],
        resource_name: String [0..],
    }

    /// Changes some settings.
    struct IncrementalAlterConfigsRequest {
        resources: Vec<IncrementalAlterConfigsResource> [0..],
        validate_only: bool [0..],
    }

    /// Settings of one topic or broker.
    struct IncrementalAlterConfigsResource {
        /// 2: a topic, 4: a broker.
        resource_type: i8 [0..],
        resource_name: String [0..],
        configs: Vec<IncrementalAlterableConfig> [0..],
    }

    /// A change of one setting.
    struct IncrementalAlterableConfig {
        name: String [0..],
        /// 0: set, 1: delete, 2: append to a list, 3: remove from a list.
        config_operation: i8 [0..],
        value: Option<String> [0..],
    }

    /// Which settings were changed.
    struct IncrementalAlterConfigsResponse {
        throttle_time_ms: i32 [0..],
        responses: Vec<AlterConfigsResourceResponse> [0..],
    }

    /// Requests the list of resources with settings.
    struct ListConfigResourcesRequest {
        /// Kafka's numbers of kinds; empty for all.
        resource_types: Vec<i8> [1..],
    }

    /// A resource with settings.
    struct ListConfigResourcesResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        config_resources: Vec<ConfigResource> [0..],
    }

    /// A topic, a broker or the like.
    struct ConfigResource {
        resource_name: String [0..],
        resource_type: i8 [1..] = 16,
    }
}
