package io.rawline.internal.group;

import io.rawline.error.FencedException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.group.GroupInfo;
import io.rawline.group.GroupSummary;
import io.rawline.internal.http.Address;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.Json;
import io.rawline.internal.http.Request;
import io.rawline.internal.request.Attempts;
import io.rawline.internal.request.Responses;
import io.rawline.internal.request.TopicRequests;
import io.rawline.internal.setting.Settings;
import io.rawline.topic.TopicPartition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Sends requests about groups of consumers. */
public final class GroupRequests {
    /** Maximum number of offsets in one commit: a body is far below the broker's limit of 1 MiB. */
    private static final int OFFSETS_MAX = 1000;

    private final Http http;
    private final GroupResponses responses;

    public GroupRequests(Http http, Responses responses) {
        this.http = http;
        this.responses = new GroupResponses(responses);
    }

    public List<GroupSummary> groups(RetryPolicy retries) {
        return responses.groups(Attempts.text(http, retries, Request.get("/groups")));
    }

    public GroupInfo group(RetryPolicy retries, String group) {
        return responses.group(Attempts.text(http, retries, Request.get("/group" + query(group))));
    }

    /** Deletes all offsets of a group. */
    public void delete(RetryPolicy retries, String group) {
        delete(retries, group, "");
    }

    /** Deletes the offset of a group in a partition. */
    public void delete(RetryPolicy retries, String group, TopicPartition partition) {
        String of = TopicRequests.query(partition.topic(), partition.partition());
        delete(retries, group, "&" + of.substring(1));
    }

    private void delete(RetryPolicy retries, String group, String parameters) {
        Attempts.delete(
                http, retries, new Request("DELETE", "/group" + query(group) + parameters, ""), "group_not_found");
    }

    /** Commits offsets of a member with an instance or null; of a group that has no members if the member is null. */
    public void commit(
            Call call,
            RetryPolicy retries,
            String group,
            Membership member,
            String instance,
            Map<TopicPartition, Long> offsets) {
        String who = "";
        if (member != null) {
            who = "\"member\":" + Json.quote(member.member()) + ",\"generation\":" + member.generation() + ",";
        }
        if (instance != null) {
            who += "\"instance\":" + Json.quote(instance) + ",";
        }
        List<Map.Entry<TopicPartition, Long>> all = new ArrayList<>(offsets.entrySet());
        for (int first = 0; first < all.size(); first += OFFSETS_MAX) {
            String list = all.subList(first, Math.min(first + OFFSETS_MAX, all.size())).stream()
                    .map(each -> offset(each.getKey(), each.getValue()))
                    .collect(Collectors.joining(","));
            Request request = json("PUT", "/group" + query(group), "{" + who + "\"offsets\":[" + list + "]}");
            Attempts.retry(call, retries, () -> ofMember(() -> http.text(call, request)));
        }
    }

    private static String offset(TopicPartition partition, long offset) {
        Settings.atLeast("offset", 0L, offset);
        return "{\"topic\":" + Json.quote(partition.topic()) + ",\"partition\":" + partition.partition()
                + ",\"offset\":" + offset + "}";
    }

    /**
     * Joins a group, once; waits for its other members.
     *
     * @param member the member's id, or null if it has none yet
     */
    public Membership join(Call call, String group, Joining joining, String member) {
        String body =
                "{\"topics\":[" + joining.topics().stream().map(Json::quote).collect(Collectors.joining(",")) + "]"
                        + (member == null ? "" : ",\"member\":" + Json.quote(member))
                        + (joining.instance() == null ? "" : ",\"instance\":" + Json.quote(joining.instance()))
                        + ",\"client\":" + Json.quote(joining.client())
                        + ",\"session_ms\":" + joining.sessionTimeout().toMillis()
                        + ",\"rebalance_ms\":" + joining.rebalanceTimeout().toMillis() + "}";
        Request request = json("POST", "/member" + query(group), body);
        // The broker waits for other members this long, unless they have longer ones.
        Duration wait = joining.rebalanceTimeout().plus(joining.sessionTimeout());
        return responses.membership(ofMember(() -> http.text(call, request, wait)));
    }

    /** Sends one heartbeat, with a timeout. */
    public void heartbeat(Call call, String group, Membership member, String instance, long limitNs) {
        String divided =
                member.divided().isPresent() ? "&divided=" + member.divided().getAsLong() : "";
        String target = member(group, member.member(), instance) + "&generation=" + member.generation() + divided;
        ofMember(() -> http.textWithin(call, new Request("PUT", target, ""), limitNs));
    }

    /** Leaves a group. Not retried: if it fails, the broker notices when the session is over. */
    public void leave(Call call, String group, String member) {
        http.text(call, new Request("DELETE", member(group, member, null), ""));
    }

    private static Request json(String method, String target, String body) {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(body);
        return new Request(method, target, "content-type: application/json\r\n", bytes);
    }

    private static String query(String group) {
        return "?group-name=" + Address.queryValue(Settings.notNull("group", group));
    }

    private static String member(String group, String member, String instance) {
        return "/member" + query(group) + "&member=" + Address.queryValue(member)
                + (instance == null ? "" : "&instance=" + Address.queryValue(instance));
    }

    private static <T> T ofMember(Supplier<T> request) {
        try {
            return request.get();
        } catch (RefusedException error) {
            throw error.code().equals("member_fenced") ? new FencedException(error) : error;
        }
    }
}
