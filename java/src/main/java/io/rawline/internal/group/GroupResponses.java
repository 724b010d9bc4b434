package io.rawline.internal.group;

import io.rawline.group.GroupInfo;
import io.rawline.group.GroupMember;
import io.rawline.group.GroupOffset;
import io.rawline.group.GroupState;
import io.rawline.group.GroupSummary;
import io.rawline.internal.request.Responses;
import io.rawline.internal.setting.Settings;
import io.rawline.topic.TopicPartition;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;

/** Turns a broker's responses about groups into results, as {@link Responses} does. */
final class GroupResponses {
    private final Responses responses;

    GroupResponses(Responses responses) {
        this.responses = responses;
    }

    List<GroupSummary> groups(byte[] text) {
        return each(
                responses.parse(text),
                "groups",
                group -> new GroupSummary(text(group, "name"), state(group), responses.number(group, "members")));
    }

    GroupInfo group(byte[] text) {
        Map<?, ?> group = responses.parse(text);
        return new GroupInfo(
                text(group, "name"),
                state(group),
                text(group, "strategy"),
                each(group, "members", this::member),
                each(group, "offsets", this::offset));
    }

    private GroupMember member(Map<?, ?> member) {
        return new GroupMember(
                text(member, "member"),
                Optional.ofNullable(member.get("instance")).map(String::valueOf),
                text(member, "client"),
                text(member, "address"),
                each(member, "partitions", this::partition));
    }

    private GroupOffset offset(Map<?, ?> offset) {
        return new GroupOffset(
                partition(offset),
                responses.number(offset, "offset"),
                responses.number(offset, "next_offset"),
                responses.number(offset, "lag"),
                offset.get("metadata") == null ? "" : text(offset, "metadata"));
    }

    Membership membership(byte[] text) {
        Map<?, ?> membership = responses.parse(text);
        Map<TopicPartition, OptionalLong> partitions = new TreeMap<>();
        each(membership, "partitions", found -> partitions.put(partition(found), optional(found, "offset")));
        return new Membership(
                text(membership, "member"),
                responses.number(membership, "generation"),
                optional(membership, "divided"),
                partitions);
    }

    private TopicPartition partition(Map<?, ?> map) {
        long partition = responses.number(map, "partition");
        if (partition < 0 || partition >= Settings.PARTITIONS_MAX) {
            throw responses.unexpected("a partition " + partition, null);
        }
        return new TopicPartition(text(map, "topic"), (int) partition);
    }

    private GroupState state(Map<?, ?> group) {
        String state = text(group, "state");
        for (GroupState known : GroupState.values()) {
            if (known.name().toLowerCase(Locale.ROOT).equals(state)) {
                return known;
            }
        }
        throw responses.unexpected("a group in the state " + state, null);
    }

    private OptionalLong optional(Map<?, ?> map, String name) {
        return map.get(name) == null ? OptionalLong.empty() : OptionalLong.of(responses.number(map, name));
    }

    private String text(Map<?, ?> map, String name) {
        if (map.get(name) instanceof String text) {
            return text;
        }
        throw responses.unexpected(name + " is missing or not a string", null);
    }

    private <T> List<T> each(Map<?, ?> map, String name, Function<Map<?, ?>, T> read) {
        List<T> all = new ArrayList<>();
        if (!(map.get(name) instanceof List<?> found)) {
            throw responses.unexpected(name + " is missing or not an array", null);
        }
        for (Object each : found) {
            if (!(each instanceof Map<?, ?> object)) {
                throw responses.unexpected("one of the " + name + " is not an object", null);
            }
            all.add(read.apply(object));
        }
        return all;
    }
}
