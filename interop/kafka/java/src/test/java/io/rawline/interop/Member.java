package io.rawline.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of a group in a process that can be killed. It has partitions and reads nothing. */
final class Member {
    /** The broker finds out soon that a member is gone, instead of after 45 s. */
    private static final Map<String, Object> CLASSIC =
            Map.of("auto.offset.reset", "earliest", "session.timeout.ms", 6000, "heartbeat.interval.ms", 500);
    /** The broker decides about sessions. */
    private static final Map<String, Object> CONSUMER =
            Map.of("auto.offset.reset", "earliest", "group.protocol", "consumer");

    private final Process process;
    private final BufferedReader output;

    private Member(Process process) {
        this.process = process;
        output = process.inputReader();
    }

    /** The settings of a member, by the protocol of its group. */
    static Map<String, Object> settings(String protocol, String group) {
        var settings = new HashMap<>(protocol.equals("consumer") ? CONSUMER : CLASSIC);
        settings.put("group.id", group);
        return settings;
    }

    static Member start(String broker, String protocol, String group, String topic) throws IOException {
        var java = ProcessHandle.current().info().command().orElse("java");
        var path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        var command = List.of(
                java,
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                path,
                Member.class.getName(),
                broker,
                protocol,
                group,
                topic);
        return new Member(new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    /** Waits until it has this many. */
    void awaitPartitions(int count) throws IOException {
        for (var line = output.readLine(); !String.valueOf(count).equals(line); line = output.readLine()) {
            if (line == null) {
                throw new IOException("the member of the group has stopped");
            }
        }
    }

    /** As a crash would: it neither leaves nor commits. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** With a broker's address, a protocol, a group and a topic. */
    public static void main(String[] arguments) {
        var settings = settings(arguments[1], arguments[2]);
        settings.put("bootstrap.servers", arguments[0]);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[3]), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    consumer.pause(partitions);
                    System.out.println(consumer.assignment().size());
                }
            });
            while (true) {
                consumer.poll(Duration.ofMillis(200));
            }
        }
    }
}
