package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.airlift.compress.Compressor;
import io.rawline.testkit.Broker;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example and the benchmark, run as documented: with {@code java}, without other libraries. */
class ProgramsTest {
    private static final Path CLASSES = Path.of("target/classes");
    private static final String LIBRARY =
            Compressor.class.getProtectionDomain().getCodeSource().getLocation().getPath();

    @TempDir
    Path directory;

    private String java(String... args) throws IOException, InterruptedException {
        List<String> onClassPath = new ArrayList<>(List.of("-cp", CLASSES.toString()));
        onClassPath.addAll(List.of(args));
        return run(onClassPath);
    }

    private String run(List<String> args) throws IOException, InterruptedException {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(args);
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        int status = process.waitFor();
        String said = Files.readString(output, StandardCharsets.UTF_8);
        assertEquals(0, status, said);
        return said;
    }

    @Test
    void theExamplePrintsWhatItAppended() throws Exception {
        try (Broker broker = Broker.start()) {
            assertEquals(
                    List.of("0  Hello, Ada!", "1  Hello, Grace!", "2  Hello, Edsger!"),
                    java("examples/Example.java", broker.url()).lines().toList());
        }
    }

    @Test
    void thePartitionsExamplePrintsEachUsersRecordsInOrder() throws Exception {
        try (Broker broker = Broker.start()) {
            List<String> printed =
                    java("examples/Partitions.java", broker.url()).lines().toList();
            List<String> ofAda = List.of("1/0  ada logged in", "1/1  ada logged in");
            assertEquals(ofAda, printed.stream().filter(ofAda::contains).toList());
            assertTrue(printed.contains("2/0  grace logged in") && printed.size() == 3, printed.toString());
        }
        String page = Files.readString(Path.of("../docs/clients.md"));
        assertTrue(page.contains("```java\n" + Files.readString(Path.of("examples/Partitions.java")) + "```"));
    }

    @Test
    void theSubscribeExamplePrintsWhatItSends() throws Exception {
        try (Broker broker = Broker.start()) {
            List<String> printed = java("examples/Subscribe.java", broker.url())
                    .lines()
                    .sorted()
                    .toList();
            assertEquals(
                    List.of(
                            "sensors.attic/0  21.5 degrees",
                            "sensors.cellar/0  12.0 degrees",
                            "sensors.cellar/1  12.1 degrees"),
                    printed);
        }
        String page = Files.readString(Path.of("../docs/clients.md"));
        assertTrue(page.contains("```java\n" + Files.readString(Path.of("examples/Subscribe.java")) + "```"));
    }

    @Test
    void theGroupsExampleContinuesWhereItHasStopped() throws Exception {
        try (Broker broker = Broker.start()) {
            for (int first : new int[] {0, 3}) {
                List<String> orders = List.of("tea", "bread", "cheese");
                List<String> printed =
                        java("examples/Groups.java", broker.url()).lines().toList();
                assertEquals(4, printed.size(), printed.toString());
                for (int i = 0; i < 3; i++) {
                    assertEquals("orders/0/" + (first + i) + "  " + orders.get(i), printed.get(i));
                }
                assertEquals("lag: 0", printed.get(3));
            }
        }
        String page = Files.readString(Path.of("README.md"));
        assertTrue(page.contains("```java\n" + Files.readString(Path.of("examples/Groups.java")) + "```"));
    }

    @Test
    void theTutorialsProgramAddsPaymentsUp() throws Exception {
        Path program = Path.of("examples/Payments.java");
        String page = Files.readString(Path.of("../docs/start/java.md"));
        assertTrue(page.contains("```java\n" + Files.readString(program) + "```"));
        try (Broker broker = Broker.start()) {
            assertTrue(page.contains("Payments.java\n" + java(program.toString(), broker.url())));
        }
    }

    @Test
    void theExampleRunsOnTheModulePath() throws Exception {
        try (Broker broker = Broker.start()) {
            String said = run(List.of(
                    "--module-path",
                    CLASSES + File.pathSeparator + LIBRARY,
                    "--add-modules",
                    "io.rawline.client",
                    "examples/Example.java",
                    broker.url()));
            assertEquals(3, said.lines().count(), said);
        }
    }

    @Test
    void theDocumentsHaveTheTestedExample() throws Exception {
        for (String page : List.of("README.md", "../docs/start.md")) {
            String text = Files.readString(Path.of(page));
            assertTrue(text.contains("```java\n" + Files.readString(Path.of("examples/Example.java")) + "```"));
        }
    }

    @Test
    void theBenchmarkChecksWhatItMoves() throws Exception {
        try (Broker broker = Broker.start();
                Client client = broker.client()) {
            String written = java(
                    "bench/Bench.java",
                    "write",
                    broker.url(),
                    "runs=1",
                    "workers=2",
                    "batches=40",
                    "records=10",
                    "bytes=100");
            assertEquals(2, written.lines().count(), written);
            String topic = client.topics().get(0).name();
            String read = java(
                    "bench/Bench.java",
                    "read",
                    broker.url(),
                    "runs=1",
                    "workers=2",
                    "requests=50",
                    "records=20",
                    "bytes=100",
                    "topic=" + topic);
            assertTrue(read.contains("java read run 1: "), read);
        }
    }

    @Test
    void aProducerOutOfMemoryFailsItsReceipts() throws Exception {
        Path program = directory.resolve("Short.java");
        Files.writeString(
                program,
                """
                import io.rawline.Client;
                import io.rawline.batch.Codec;
                import io.rawline.error.StoppedException;
                import io.rawline.producer.ProducerConfig;
                import io.rawline.producer.Receipt;
                public class Short {
                    public static void main(String[] args) {
                        ProducerConfig config = new ProducerConfig().codec(Codec.LZ4).batchBytes(32 << 20);
                        Client client = new Client(args[0]);
                        Receipt receipt = client.producer("t", config).send(new byte[6 << 20]);
                        try {
                            receipt.offset();
                        } catch (StoppedException error) {
                            System.out.println(error.getMessage());
                        }
                    }
                }
                """);
        try (Broker broker = Broker.start()) {
            // The record fits into memory, its compressed form doesn't.
            String said = java(
                    "-XX:MaxDirectMemorySize=10m",
                    "-cp",
                    CLASSES + File.pathSeparator + LIBRARY,
                    program.toString(),
                    broker.url());
            assertTrue(said.contains("give Java more memory"), said);
        }
    }

    @Test
    void compressingWithoutTheLibrarySaysToAddIt() throws Exception {
        URL[] classes = {CLASSES.toUri().toURL()};
        try (URLClassLoader alone = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader())) {
            Class<?> codec = alone.loadClass("io.rawline.batch.Codec");
            Class<?> limits = alone.loadClass("io.rawline.batch.Limits");
            Constructor<?> builder =
                    alone.loadClass("io.rawline.batch.BatchBuilder").getConstructor(codec, limits);
            Object usual = limits.getField("DEFAULT").get(null);
            builder.newInstance(codec.getField("NONE").get(null), usual);
            for (String name : List.of("LZ4", "ZSTD")) {
                Object wanted = codec.getField(name).get(null);
                Throwable cause = assertThrows(
                                InvocationTargetException.class, () -> builder.newInstance(wanted, usual))
                        .getCause();
                assertEquals(
                        "io.rawline.error.ConfigException", cause.getClass().getName());
                assertTrue(cause.getMessage().contains("io.airlift:aircompressor"), cause.getMessage());
            }
        }
    }
}
