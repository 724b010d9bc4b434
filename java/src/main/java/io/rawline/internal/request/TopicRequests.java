package io.rawline.internal.request;

import io.rawline.error.RetryPolicy;
import io.rawline.internal.http.Address;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.Request;
import io.rawline.internal.setting.Settings;
import io.rawline.record.Start;
import io.rawline.topic.Extent;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.Trimmed;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Sends requests about topics. */
public final class TopicRequests {
    private final Http http;
    private final Responses responses;

    TopicRequests(Http http, Responses responses) {
        this.http = http;
        this.responses = responses;
    }

    public TopicInfo topic(Call call, RetryPolicy retries, String topic) {
        Request request = Request.get("/topic" + query(topic));
        return responses.topic(text(call, retries, topic, request));
    }

    public List<TopicInfo> topics(RetryPolicy retries) {
        List<TopicInfo> all = new ArrayList<>();
        Optional<String> next = Optional.of("");
        while (next.isPresent()) {
            String after = next.get().isEmpty() ? "" : "&after=" + Address.queryValue(next.get());
            next = responses.topics(Attempts.text(http, retries, Request.get("/topics?limit=10000" + after)), all);
        }
        return all;
    }

    /** Creates a topic, or fails if it exists. */
    public TopicInfo create(RetryPolicy retries, String topic, String settings) {
        return store("POST", retries, topic, settings);
    }

    /** Sets settings of a topic, which it creates if it doesn't exist. */
    public TopicInfo set(RetryPolicy retries, String topic, String settings) {
        return store("PUT", retries, topic, settings);
    }

    private TopicInfo store(String method, RetryPolicy retries, String topic, String settings) {
        Request request = new Request(method, "/topic" + query(topic), "", StandardCharsets.UTF_8.encode(settings));
        return responses.topic(text(new Call(), retries, topic, request));
    }

    public void delete(RetryPolicy retries, String topic) {
        Request request = new Request("DELETE", "/topic" + query(topic), "");
        Responses.onTopic(topic, () -> Attempts.delete(http, retries, request, "topic_not_found"));
    }

    /** Deletes the records of a partition before an offset. */
    public Trimmed trim(RetryPolicy retries, String topic, int partition, long before) {
        String target = "/trim" + query(topic, partition) + "&before=" + Settings.atLeast("before", 0L, before);
        return responses.trimmed(text(new Call(), retries, topic, new Request("POST", target, "")));
    }

    /** Finds the first record of a partition appended at or after a time. */
    public long offsetAt(Call call, RetryPolicy retries, String topic, int partition, Instant time) {
        String at = Address.queryValue(Settings.notNull("time", time).toString());
        Request request = Request.get("/offset" + query(topic, partition) + "&time=" + at);
        return responses.offset(text(call, retries, topic, request));
    }

    /** The offset at which to start in a partition of a topic that is described with its offsets. */
    public long startOffset(Call call, RetryPolicy retries, TopicInfo topic, int partition, Start start) {
        if (start instanceof Start.Offset at) {
            return at.offset();
        }
        if (start instanceof Start.Time at) {
            return offsetAt(call, retries, topic.name(), partition, at.time());
        }
        Extent offsets = topic.offsets().get(partition);
        return start instanceof Start.Latest ? offsets.nextOffset() : offsets.firstOffset();
    }

    private byte[] text(Call call, RetryPolicy retries, String topic, Request request) {
        return Responses.onTopic(topic, () -> Attempts.retry(call, retries, () -> http.text(call, request)));
    }

    static String query(String topic) {
        return "?topic-name=" + Address.queryValue(Settings.notNull("topic", topic));
    }

    public static String query(String topic, int partition) {
        // Partition 0 is the default.
        return query(topic) + (Settings.partition(partition) == 0 ? "" : "&partition=" + partition);
    }
}
