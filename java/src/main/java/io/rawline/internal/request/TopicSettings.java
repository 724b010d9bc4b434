package io.rawline.internal.request;

import io.rawline.internal.setting.Settings;
import io.rawline.topic.CleanupPolicy;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.StringJoiner;

/** Settings of a topic as a JSON object, as the broker's API has them. */
public final class TopicSettings {
    private TopicSettings() {}

    /** Those of a new topic. */
    public static String all(Payload payload, Retention retention, int partitions, CleanupPolicy policy) {
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

    public static String payload(Payload payload) {
        return "{\"payload\":\"" + Settings.notNull("payload", payload) + "\"}";
    }

    public static String retention(Retention retention) {
        OptionalDouble hours = Settings.notNull("retention", retention).hours();
        OptionalLong bytes = retention.bytes();
        return "{\"retain_hours\":" + (hours.isPresent() ? hours.getAsDouble() : "null") + ",\"retain_bytes\":"
                + (bytes.isPresent() ? bytes.getAsLong() : "null") + "}";
    }

    public static String partitions(int partitions) {
        return "{\"partitions\":" + Settings.range("partitions", 1, Settings.PARTITIONS_MAX, partitions) + "}";
    }

    public static String cleanupPolicy(CleanupPolicy policy) {
        return "{\"cleanup_policy\":\"" + Settings.notNull("policy", policy) + "\"}";
    }

    private static String members(String object) {
        return object.substring(1, object.length() - 1);
    }
}
