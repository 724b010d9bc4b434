package io.rawline.internal.request;

import io.rawline.batch.BatchException;
import io.rawline.internal.http.AppendResponse;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.QueuedRequest;
import io.rawline.internal.http.Request;
import io.rawline.internal.setting.Settings;
import io.rawline.topic.Appended;
import java.nio.ByteBuffer;
import java.util.function.Function;

/**
 * The appends of a client: each goes to the owner of its topic's journal, if that is known. If no connection to it can
 * be established, the append goes to any broker, which forwards it.
 */
public final class Appends {
    private final Owners owners;
    private final Endpoint configured;

    /**
     * An append that was queued on a connection.
     *
     * @param endpoint where
     * @param request what, so that it can continue elsewhere
     * @param waiting its place there
     */
    public record Queued(String topic, Endpoint endpoint, Request request, QueuedRequest waiting) {}

    Appends(Endpoint configured, Owners owners) {
        this.configured = configured;
        this.owners = owners;
    }

    /** The current target of appends to a topic. */
    public Endpoint endpoint(String topic) {
        return owners.of(Settings.notNull("topic", topic));
    }

    /** Their target while the owner isn't known. */
    public Endpoint configured() {
        return configured;
    }

    /** Appends; with an epoch other than {@link ProducerInstance#NO_EPOCH} exactly once. */
    public Appended append(Call call, Endpoint endpoint, int epoch, String topic, int partition, ByteBuffer... pieces) {
        Request request = request(epoch, topic, partition, pieces);
        return send(topic, endpoint, http -> http.append(call, request));
    }

    /** Appends Kafka's batches, which name their producer themselves. */
    public Appended appendRecordBatches(
            Call call, Endpoint endpoint, String topic, int partition, ByteBuffer... pieces) {
        Request request = request(Responses.RECORD_BATCH_TYPE, "", topic, partition, pieces);
        return send(topic, endpoint, http -> http.appendAlone(call, request));
    }

    /**
     * Queues an append that is small enough to share a connection, without waiting; null if it isn't.
     *
     * @param after null, or a queued append: a broker gets this one after it if both go there, unless their connection
     *     breaks
     */
    public Queued begin(Queued after, Endpoint endpoint, int epoch, String topic, int partition, ByteBuffer... pieces) {
        Request request = request(epoch, topic, partition, pieces);
        boolean follows = after != null && after.endpoint == endpoint;
        QueuedRequest waiting = endpoint.http().begin(request, follows ? after.waiting : null);
        return waiting == null ? null : new Queued(topic, endpoint, request, waiting);
    }

    /** Waits for a queued append. */
    public Appended await(Call call, Queued queued) {
        return send(
                queued.topic,
                queued.endpoint,
                http -> http == queued.endpoint.http()
                        ? http.await(call, queued.waiting)
                        : http.append(call, queued.request));
    }

    private Appended send(String topic, Endpoint endpoint, Function<Http, AppendResponse> request) {
        return owners.send(topic, endpoint, target -> appended(topic, target, request));
    }

    private Appended appended(String topic, Endpoint endpoint, Function<Http, AppendResponse> request) {
        AppendResponse response = Responses.onTopic(topic, () -> request.apply(endpoint.http()));
        Appended appended = endpoint.responses().appended(response.body());
        owners.learn(topic, response.owner());
        return appended;
    }

    private static Request request(int epoch, String topic, int partition, ByteBuffer... pieces) {
        String once = epoch == ProducerInstance.NO_EPOCH ? "" : "&producer-epoch=" + epoch;
        return request(Responses.BATCH_TYPE, once, topic, partition, pieces);
    }

    private static Request request(String type, String once, String topic, int partition, ByteBuffer... pieces) {
        boolean any = false;
        for (ByteBuffer piece : pieces) {
            any |= Settings.notNull("a piece", piece).hasRemaining();
        }
        if (!any) {
            throw BatchException.empty();
        }
        String headers = "content-type: " + type + "\r\n";
        String target = "/records" + TopicRequests.query(topic, partition) + once;
        return new Request("POST", target, headers, pieces);
    }
}
