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
    static final Map<String, Object> SETTINGS =
            Map.of("auto.offset.reset", "earliest", "session.timeout.ms", 6000, "heartbeat.interval.ms", 500);

    private final Process process;
    private final BufferedReader output;

    private Member(Process process) {
        this.process = process;
        output = process.inputReader();
    }

    static Member start(String broker, String group, String topic) throws IOException {
        var java = ProcessHandle.current().info().command().orElse("java");
        var path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        var command = List.of(
                java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", path, Member.class.getName(), broker, group, topic);
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

    /** With a broker's address, a group and a topic. */
    public static void main(String[] arguments) {
        var settings = new HashMap<>(SETTINGS);
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[2]), new ConsumerRebalanceListener() {
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
