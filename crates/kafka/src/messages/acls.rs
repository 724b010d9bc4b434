//! Kafka's access control lists. The broker has none, and responds accordingly.

use super::structure::*;

structures! {
    /// Asks for the rules that match.
    struct DescribeAclsRequest {
        resource_type_filter: i8 [1..],
        resource_name_filter: Option<String> [1..],
        pattern_type_filter: i8 [1..] = 3,
        principal_filter: Option<String> [1..],
        host_filter: Option<String> [1..],
        operation: i8 [1..],
        permission_type: i8 [1..],
    }

    /// The rules.
    struct DescribeAclsResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [1..],
        error_message: Option<String> [1..],
        resources: Vec<DescribeAclsResource> [1..],
    }

    /// A resource with rules.
    struct DescribeAclsResource {
        resource_type: i8 [1..],
        resource_name: String [1..],
        pattern_type: i8 [1..] = 3,
        acls: Vec<AclDescription> [1..],
    }

    /// A rule.
    struct AclDescription {
        principal: String [1..],
        host: String [1..],
        operation: i8 [1..],
        permission_type: i8 [1..],
    }

    /// Adds rules.
    struct CreateAclsRequest {
        creations: Vec<AclCreation> [1..],
    }

    /// A rule to be added.
    struct AclCreation {
        resource_type: i8 [1..],
        resource_name: String [1..],
        resource_pattern_type: i8 [1..] = 3,
        principal: String [1..],
        host: String [1..],
        operation: i8 [1..],
        permission_type: i8 [1..],
    }

    /// The results, in order.
    struct CreateAclsResponse {
        throttle_time_ms: i32 [1..],
        results: Vec<AclCreationResult> [1..],
    }

    /// The result of one.
    struct AclCreationResult {
        error_code: i16 [1..],
        error_message: Option<String> [1..],
    }

    /// Deletes the rules that match.
    struct DeleteAclsRequest {
        filters: Vec<DeleteAclsFilter> [1..],
    }

    /// Which rules.
    struct DeleteAclsFilter {
        resource_type_filter: i8 [1..],
        resource_name_filter: Option<String> [1..],
        pattern_type_filter: i8 [1..] = 3,
        principal_filter: Option<String> [1..],
        host_filter: Option<String> [1..],
        operation: i8 [1..],
        permission_type: i8 [1..],
    }

    /// The deleted rules, in order of the filters.
    struct DeleteAclsResponse {
        throttle_time_ms: i32 [1..],
        filter_results: Vec<DeleteAclsFilterResult> [1..],
    }

    /// The rules that a filter has deleted.
    struct DeleteAclsFilterResult {
        error_code: i16 [1..],
        error_message: Option<String> [1..],
        matching_acls: Vec<DeleteAclsMatchingAcl> [1..],
    }

    /// A deleted rule.
    struct DeleteAclsMatchingAcl {
        error_code: i16 [1..],
        error_message: Option<String> [1..],
        resource_type: i8 [1..],
        resource_name: String [1..],
        pattern_type: i8 [1..] = 3,
        principal: String [1..],
        host: String [1..],
        operation: i8 [1..],
        permission_type: i8 [1..],
    }
}
