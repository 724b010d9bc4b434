package io.rawline.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Exit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kafka's command-line tools: their main classes, in this process. */
class ToolsTest {
    private static final String TOPICS = "org.apache.kafka.tools.TopicCommand";
    private static final String PRODUCE = "org.apache.kafka.tools.ConsoleProducer";
    private static final String CONSUME = "org.apache.kafka.tools.consumer.ConsoleConsumer";
    private static final String GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
    private static final String CONFIGS = "kafka.admin.ConfigCommand";
    private static final String OFFSETS = "org.apache.kafka.tools.GetOffsetShell";
    private static final String DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand";
    private static final String LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand";
    private static final String CLUSTER = "org.apache.kafka.tools.ClusterTool";
    private static final String VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand";
    private static final String TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand";
    private static final String PRODUCER_SPEED = "org.apache.kafka.tools.ProducerPerformance";
    private static final String CONSUMER_SPEED = "org.apache.kafka.tools.ConsumerPerformance";

    @Test
    void topics() {
        run(TOPICS, "--create --topic tools --partitions 3 --config retention.ms=3600000");
        assertTrue(run(TOPICS, "--list").contains("tools\n"));
        var described = run(TOPICS, "--describe --topic tools");
        assertTrue(
                described.contains("PartitionCount: 3\tReplicationFactor: 1\tConfigs: retention.ms=3600000"),
                described);
        assertTrue(described.contains("Partition: 2\tLeader: 1\tReplicas: 1\tIsr: 1"), described);
        run(TOPICS, "--alter --topic tools --partitions 4");
        assertEquals(4, run(TOPICS, "--describe --topic tools").split("Partition: ").length - 1);
        run(CONFIGS, "--alter --topic tools --add-config retention.bytes=1000000 --delete-config retention.ms");
        var settings = run(CONFIGS, "--describe --topic tools");
        assertTrue(settings.contains("retention.bytes=1000000") && !settings.contains("retention.ms"), settings);
        assertTrue(run(CONFIGS, "--describe --topic tools --all").contains("cleanup.policy=delete"));
        assertTrue(run(CONFIGS, "--describe --broker 1 --all").contains("num.partitions=1"));
        assertTrue(run(LOG_DIRS, "--describe --topic-list tools").contains("\"partition\":\"tools-3\""));
        var cluster = run(CLUSTER, "cluster-id");
        assertTrue(cluster.matches("(?s).*Cluster ID: [0-9a-f]{32}\n.*"), cluster);
        assertTrue(run(VERSIONS, "").contains("Produce(0): 0 to "));
        run(TOPICS, "--delete --topic tools");
        assertTrue(!run(TOPICS, "--list").contains("tools\n"));
    }

    @Test
    void recordsAndGroups(@TempDir Path folder) throws Exception {
        run(TOPICS, "--create --topic console --partitions 2");
        var lines = IntStream.range(0, 1000)
                .mapToObj(number -> number + ":value " + number)
                .toList();
        System.setIn(new ByteArrayInputStream(String.join("\n", lines).getBytes(StandardCharsets.UTF_8)));
        run(PRODUCE, "--topic console --reader-property parse.key=true --reader-property key.separator=:");
        var all = "--topic console --from-beginning --max-messages 1000 --timeout-ms 10000 --group console-readers";
        var read = run(CONSUME, all + " --formatter-property print.key=true --formatter-property key.separator=:");
        assertEquals(
                lines.stream().sorted().toList(),
                Stream.of(read.split("\n")).sorted().toList());
        var offsets = run(OFFSETS, "--topic console --time latest").trim().split("\n");
        assertEquals(2, offsets.length);
        assertEquals(
                1000,
                Stream.of(offsets)
                        .mapToInt(line -> Integer.parseInt(line.split(":")[2]))
                        .sum());

        assertTrue(run(GROUPS, "--list").contains("console-readers\n"));
        assertEquals(List.of("0", "0"), lag());
        run(GROUPS, "--group console-readers --topic console --reset-offsets --to-earliest --execute");
        assertEquals(1000, lag().stream().mapToInt(Integer::parseInt).sum());
        var state = run(GROUPS, "--describe --group console-readers --state");
        assertTrue(state.contains("Empty"), state);
        var file = Files.writeString(
                folder.resolve("delete.json"),
                "{\"version\": 1, \"partitions\": [{\"topic\": \"console\", \"partition\": 0, \"offset\": 5}]}");
        var deleted = run(DELETE_RECORDS, "--offset-json-file " + file);
        assertTrue(deleted.contains("low_watermark: 5"), deleted);
        assertTrue(run(OFFSETS, "--topic console --time earliest").contains("console:0:5"));
        run(GROUPS, "--delete-offsets --group console-readers --topic console");
        run(GROUPS, "--delete --group console-readers");
        assertTrue(!run(GROUPS, "--list").contains("console-readers\n"));
    }

    @Test
    void groupsThatTheBrokerDivides() throws Exception {
        run(TOPICS, "--create --topic divided --partitions 2");
        var member = Member.start(ClientsTest.BROKER, "consumer", "divided-readers", "divided");
        try {
            member.awaitPartitions(2);
            var described = run(GROUPS, "--describe --group divided-readers");
            assertTrue(described.contains("divided-readers divided         1"), described);
            var members = run(GROUPS, "--describe --group divided-readers --members --verbose");
            assertTrue(members.contains("CURRENT-EPOCH") && members.contains("divided:0,1"), members);
            var state = run(GROUPS, "--describe --group divided-readers --state --verbose");
            assertTrue(state.contains("uniform") && state.contains("Stable"), state);
            assertTrue(run(GROUPS, "--list --type consumer").contains("divided-readers"));
            assertTrue(!run(GROUPS, "--list --type classic").contains("divided-readers"));
        } finally {
            member.kill();
        }
    }

    @Test
    void transactions() throws Exception {
        run(TOPICS, "--create --topic tools-transactions --partitions 2");
        var settings = Map.<String, Object>of("bootstrap.servers", ClientsTest.BROKER, "transactional.id", "tools-id");
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("tools-transactions", 1, "key", "value")).get();
            var open = rows(run(TRANSACTIONS, "list --transactional-id-pattern tools-.*"));
            assertEquals(List.of("tools-id", "Ongoing"), List.of(open.get(0).get(0), open.get(0).get(3)));
            var id = open.get(0).get(2);
            var described = run(TRANSACTIONS, "describe --transactional-id tools-id");
            assertTrue(described.contains("Ongoing") && described.contains("tools-transactions-1"), described);
            var producers = rows(run(TRANSACTIONS, "describe-producers --topic tools-transactions --partition 1"));
            assertEquals(List.of(id, "0"), List.of(producers.get(0).get(0), producers.get(0).get(5)));
            assertEquals(List.of(), rows(run(TRANSACTIONS, "find-hanging --topic tools-transactions")));
            producer.commitTransaction();
            var ended = rows(run(TRANSACTIONS, "list --transactional-id-pattern tools-.*"));
            assertEquals(List.of("tools-id", "CompleteCommit"), List.of(ended.get(0).get(0), ended.get(0).get(3)));
        }
    }

    /** The fields of what a tool prints below its heading. */
    private static List<List<String>> rows(String printed) {
        return printed.lines()
                .skip(1)
                .map(line -> List.of(line.trim().split("\\s+")))
                .toList();
    }

    private static List<String> lag() {
        var described =
                run(GROUPS, "--describe --group console-readers").lines().toList();
        return described.stream()
                .filter(line -> line.startsWith("console-readers"))
                .map(line -> line.split("\\s+")[5])
                .toList();
    }

    @Test
    void speed() {
        run(TOPICS, "--create --topic speed --partitions 1");
        var sent = "--topic speed --num-records 100000 --record-size 100 --throughput -1 --command-property ";
        var produced = run(PRODUCER_SPEED, sent + "bootstrap.servers=" + ClientsTest.BROKER);
        assertTrue(produced.contains("100000 records sent"), produced);
        var consumed = run(CONSUMER_SPEED, "--topic speed --num-records 100000 --timeout 10000 --hide-header");
        assertEquals("100000", consumed.trim().split(", ")[4], consumed);
    }

    /** The output of a tool. */
    private static String run(String tool, String arguments) {
        var words = Stream.of(arguments.split(" "))
                .filter(word -> !word.isEmpty())
                .toList();
        var address =
                tool.equals(PRODUCER_SPEED) ? List.<String>of() : List.of("--bootstrap-server", ClientsTest.BROKER);
        // One tool wants it before its command.
        boolean isFirst = tool.equals(TRANSACTIONS);
        var output = new ByteArrayOutputStream();
        var before = System.out;
        System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> {
            if (status != 0) {
                throw new IllegalStateException("exit status " + status + ": " + message);
            }
        });
        try {
            var all = Stream.of(isFirst ? address : words, isFirst ? words : address)
                    .flatMap(List::stream)
                    .toArray(String[]::new);
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) all);
        } catch (InvocationTargetException error) {
            throw new AssertionError(tool + " " + arguments + ": " + output, error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(tool, error);
        } finally {
            System.setOut(before);
            Exit.resetExitProcedure();
        }
        return output.toString(StandardCharsets.UTF_8);
    }
}
