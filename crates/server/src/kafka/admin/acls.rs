//! DescribeAcls, CreateAcls, DeleteAcls: as a Kafka without an authorizer.

use super::many::outcome;
use crate::kafka::error::Refusal;
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    AclCreationResult, CreateAclsRequest, CreateAclsResponse, DeleteAclsFilterResult, DeleteAclsRequest,
    DeleteAclsResponse, DescribeAclsResponse,
};

/// The error of each rule: its number and its message.
fn none() -> (i16, Option<String>) {
    let message = "this broker has no ACLs: a keys file says what each key may do; see docs/security.md";
    outcome(Err(Refusal::new(ErrorCode::SecurityDisabled, message)))
}

pub(super) fn describe() -> DescribeAclsResponse {
    let (error_code, error_message) = none();
    DescribeAclsResponse { error_code, error_message, ..DescribeAclsResponse::default() }
}

pub(super) fn create(request: &CreateAclsRequest) -> CreateAclsResponse {
    let (error_code, error_message) = none();
    let results = vec![AclCreationResult { error_code, error_message }; request.creations.len()];
    CreateAclsResponse { results, ..CreateAclsResponse::default() }
}

pub(super) fn delete(request: &DeleteAclsRequest) -> DeleteAclsResponse {
    let (error_code, error_message) = none();
    let result = DeleteAclsFilterResult { error_code, error_message, matching_acls: Vec::new() };
    DeleteAclsResponse { filter_results: vec![result; request.filters.len()], ..DeleteAclsResponse::default() }
}
