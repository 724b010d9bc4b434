package io.rawline.interop;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.common.TopicPartition;

/** A job that copies the topic `events` to `copies`, in a cluster inside this process, and fails once. */
final class Copy {
    private Copy() {}

    /** With a broker's address, a guarantee, the number of partitions, and of records in each. */
    public static void main(String[] arguments) throws Exception {
        var broker = arguments[0];
        var guarantee = DeliveryGuarantee.valueOf(arguments[1]);
        var ends = ends(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]));
        var settings = Configuration.fromMap(Map.of(
                "execution.checkpointing.interval", "500 ms",
                "restart-strategy.type", "fixed-delay",
                "restart-strategy.fixed-delay.attempts", "1",
                "restart-strategy.fixed-delay.delay", "100 ms"));
        var environment = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
        var source = KafkaSource.<String>builder()
                .setBootstrapServers(broker)
                .setTopics("events")
                .setGroupId("flink")
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new SimpleStringSchema());
        var sink = KafkaSink.<String>builder()
                .setBootstrapServers(broker)
                .setDeliveryGuarantee(guarantee)
                .setTransactionalIdPrefix("flink")
                .setProperty("transaction.timeout.ms", "60000")
                .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                        .setTopic("copies")
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build());
        var bounded = source.setBounded(OffsetsInitializer.offsets(ends)).build();
        environment
                .fromSource(bounded, WatermarkStrategy.noWatermarks(), "events")
                .map(new FailsOnce())
                .sinkTo(sink.build());
        environment.execute();
    }

    private static Map<TopicPartition, Long> ends(int partitions, long records) {
        var ends = new HashMap<TopicPartition, Long>();
        for (int partition = 0; partition < partitions; partition++) {
            ends.put(new TopicPartition("events", partition), records);
        }
        return ends;
    }
}
