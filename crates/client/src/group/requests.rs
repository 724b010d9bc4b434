//! Requests about groups of consumers.

use crate::call::{Call, query_value};
use crate::client::Client;
use crate::error::ClientError;
use crate::partition::TopicPartition;
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

    /// All groups of consumers, by name, with their topics and their lag, for which the broker looks at each partition
    /// that a group has read.
    pub async fn groups_with_totals(&self) -> Result<Vec<GroupSummary>, ClientError> {
        let text = self.text(&Call::get(format!("{}?totals=true", path::GROUPS))).await?;
        self.parse_json(&text).map(|list: GroupList| list.groups)
    }

    /// A group: its members, and the offsets that it has committed. Fails with the code `group_not_found` if it has
    /// neither.
    pub async fn group(&self, group: &str) -> Result<GroupInfo, ClientError> {
        let text = self.text(&of_group(Method::GET, path::GROUP, group)).await?;
        self.parse_json(&text)
    }

    /// Sets offsets of a group that has no members. Fails with the code `group_not_empty` if it has some.
    pub async fn set_group_offsets(&self, group: &str, offsets: Vec<CommitOffset>) -> Result<(), ClientError> {
        self.commit_to_group(group, &CommitRequest { member: None, generation: None, instance: None, offsets }).await
    }

    /// Commits offsets.
    pub(super) async fn commit_to_group(&self, group: &str, request: &CommitRequest) -> Result<(), ClientError> {
        let call = of_group(Method::PUT, path::GROUP, group).json(request)?;
        self.text(&call).await.map(drop)
    }

    /// Deletes all offsets of a group that has no members.
    pub async fn delete_group(&self, group: &str) -> Result<(), ClientError> {
        self.delete(&of_group(Method::DELETE, path::GROUP, group), GROUP_NOT_FOUND).await
    }

    /// Deletes a group's offset in one partition, which no member reads.
    pub async fn delete_group_offset<'a>(
        &self,
        group: &str,
        partition: impl Into<TopicPartition<'a>>,
    ) -> Result<(), ClientError> {
        let mut call = of_group(Method::DELETE, path::GROUP, group);
        push(&mut call, format_args!("&{}", partition.into()));
        self.delete(&call, GROUP_NOT_FOUND).await
    }

    /// Joins a group; waits up to `wait` for its other members.
    pub(super) async fn join_group(
        &self,
        group: &str,
        request: &JoinRequest,
        wait: Duration,
    ) -> Result<Membership, ClientError> {
        let call = of_group(Method::POST, path::MEMBER, group).json(request)?;
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

fn of_group(method: Method, path: &str, group: &str) -> Call {
    Call::new(method, format!("{path}?group-name={}", query_value(group)))
}

fn of_member(method: Method, group: &str, member: &str, instance: Option<&str>) -> Call {
    let mut call = of_group(method, path::MEMBER, group);
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
