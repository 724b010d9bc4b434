package io.rawline;

import io.rawline.batch.BatchException;
import io.rawline.internal.http.Address;
import io.rawline.internal.http.Request;
import java.nio.ByteBuffer;

/** Builds requests to a partition of a topic. */
final class TopicRequests {
    private TopicRequests() {}

    static Request append(int epoch, String topic, int partition, ByteBuffer... pieces) {
        String once = epoch == ProducerInstance.NO_EPOCH ? "" : "&producer-epoch=" + epoch;
        return append(Client.BATCH_TYPE, once, topic, partition, pieces);
    }

    static Request append(String type, String once, String topic, int partition, ByteBuffer... pieces) {
        boolean any = false;
        for (ByteBuffer piece : pieces) {
            any |= Settings.notNull("a piece", piece).hasRemaining();
        }
        if (!any) {
            throw BatchException.empty();
        }
        String headers = "content-type: " + type + "\r\n";
        return new Request("POST", "/records" + query(topic, partition) + once, headers, pieces);
    }

    static String query(String topic) {
        return "?topic-name=" + Address.queryValue(Settings.notNull("topic", topic));
    }

    static String query(String topic, int partition) {
        // Partition 0 is the default: a broker without partitions has that one.
        return query(topic) + (Settings.partition(partition) == 0 ? "" : "&partition=" + partition);
    }
}
