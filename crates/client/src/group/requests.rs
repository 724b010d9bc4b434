//! Requests about groups of consumers.

use crate::call::{Call, query_value};
use crate::partition::TopicPartition;
use crate::{Client, ClientError};
use http::Method;
use rawline_contract::code::GROUP_NOT_FOUND;
use rawline_contract::{
    CommitOffset, CommitRequest, GroupInfo, GroupList, GroupSummary, JoinRequest, Membership, path,
};
use std::fmt::Write;
use std::time::Duration;

impl Client {
    /// All groups of consumers, by name.
    pub async fn groups(&self) -> Result<Vec<GroupSummary>, ClientError> {
        let text = self.text(&Call::get(path::GROUPS.to_owned())).await?;
        self.parse_json(&text).map(|list: GroupList| list.groups)
    }

    /// A group: its members, and the offsets that it has committed. Fails with the code `group_not_found` if it has
    /// neither.
    pub async fn group(&self, group: &str) -> Result<GroupInfo, ClientError> {
        let text = self.text(&call(Method::GET, path::GROUP, group)).await?;
        self.parse_json(&text)
    }

    /// Sets offsets of a group that has no members. Fails with the code `group_not_empty` if it has some.
    pub async fn set_group_offsets(&self, group: &str, offsets: Vec<CommitOffset>) -> Result<(), ClientError> {
        self.commit_to_group(group, &CommitRequest { member: None, generation: None, instance: None, offsets }).await
    }

    /// Commits offsets.
    pub(super) async fn commit_to_group(&self, group: &str, request: &CommitRequest) -> Result<(), ClientError> {
        let call = call(Method::PUT, path::GROUP, group).json(request)?;
        self.text(&call).await.map(drop)
    }

    /// Deletes all offsets of a group that has no members.
    pub async fn delete_group(&self, group: &str) -> Result<(), ClientError> {
        self.delete_offsets(call(Method::DELETE, path::GROUP, group)).await
    }

    /// Deletes a group's offset in one partition, which no member reads.
    pub async fn delete_group_offset<'a>(
        &self,
        group: &str,
        partition: impl Into<TopicPartition<'a>>,
    ) -> Result<(), ClientError> {
        let mut call = call(Method::DELETE, path::GROUP, group);
        push(&mut call, format_args!("&{}", partition.into()));
        self.delete_offsets(call).await
    }

    async fn delete_offsets(&self, call: Call) -> Result<(), ClientError> {
        let (mut attempts, mut may_be_deleted) = (self.attempts(), false);
        loop {
            match self.text_once(&call).await {
                Ok(_) => return Ok(()),
                // An earlier try, whose response was lost, has deleted it.
                Err(error) if may_be_deleted && error.code() == Some(GROUP_NOT_FOUND.name) => return Ok(()),
                Err(error) => {
                    may_be_deleted |= matches!(error, ClientError::Broken { .. } | ClientError::Timeout { .. });
                    attempts.failed(error).await?;
                }
            }
        }
    }

    /// Joins a group; waits up to `wait` for its other members.
    pub(super) async fn join_group(
        &self,
        group: &str,
        request: &JoinRequest,
        wait: Duration,
    ) -> Result<Membership, ClientError> {
        let call = call(Method::POST, path::MEMBER, group).json(request)?;
        let mut attempts = self.attempts();
        loop {
            match self.text_within(&call, wait).await {
                Ok(text) => return self.parse_json(&text),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    /// Gives a sign, once.
    pub(super) async fn heartbeat(
        &self,
        group: &str,
        membership: &Membership,
        instance: Option<&str>,
    ) -> Result<(), ClientError> {
        let mut call = of_member(Method::PUT, group, &membership.member, instance);
        push(&mut call, format_args!("&generation={}", membership.generation));
        if let Some(divided) = membership.divided {
            push(&mut call, format_args!("&divided={divided}"));
        }
        self.text_once(&call).await.map(drop)
    }

    /// Leaves a group.
    pub(super) async fn leave_group(
        &self,
        group: &str,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ClientError> {
        self.text(&of_member(Method::DELETE, group, member, instance)).await.map(drop)
    }
}

fn call(method: Method, path: &str, group: &str) -> Call {
    let mut call = Call::get(format!("{path}?group-name={}", query_value(group)));
    call.method = method;
    call
}

fn of_member(method: Method, group: &str, member: &str, instance: Option<&str>) -> Call {
    let mut call = call(method, path::MEMBER, group);
    push(&mut call, format_args!("&member={}", query_value(member)));
    if let Some(instance) = instance {
        push(&mut call, format_args!("&instance={}", query_value(instance)));
    }
    call
}

fn push(call: &mut Call, parameter: std::fmt::Arguments<'_>) {
    // Writing to a string doesn't fail.
    let _ = call.target.write_fmt(parameter);
}
