package io.rawline;

import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.StringJoiner;

/** Settings of a topic as a JSON object, as the broker's API has them. */
final class TopicSettings {
    private TopicSettings() {}

    /** Those of a new topic. */
    static String all(Payload payload, Retention retention, int partitions, CleanupPolicy policy) {
        StringJoiner all = new StringJoiner(",", "{", "}");
        all.add(members(payload(payload))).add(members(retention(retention)));
        String count = members(partitions(partitions));
        if (partitions != 1) {
            all.add(count);
        }
        String cleanup = members(cleanupPolicy(policy));
        if (policy != CleanupPolicy.DELETE) {
            all.add(cleanup);
        }
        return all.toString();
    }

    static String payload(Payload payload) {
        return "{\"payload\":\"" + Settings.notNull("payload", payload) + "\"}";
    }

    static String retention(Retention retention) {
        OptionalDouble hours = Settings.notNull("retention", retention).hours();
        OptionalLong bytes = retention.bytes();
        return "{\"retain_hours\":" + (hours.isPresent() ? hours.getAsDouble() : "null") + ",\"retain_bytes\":"
                + (bytes.isPresent() ? bytes.getAsLong() : "null") + "}";
    }

    static String partitions(int partitions) {
        return "{\"partitions\":" + Settings.range("partitions", 1, Settings.PARTITIONS_MAX, partitions) + "}";
    }

    static String cleanupPolicy(CleanupPolicy policy) {
        return "{\"cleanup_policy\":\"" + Settings.notNull("policy", policy) + "\"}";
    }

    private static String members(String object) {
        return object.substring(1, object.length() - 1);
    }
}
