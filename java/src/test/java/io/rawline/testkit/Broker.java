package io.rawline.testkit;

import io.rawline.Client;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A real broker for tests: the {@code rawline} binary on a new directory and a free port. */
public final class Broker implements AutoCloseable {
    private static final String KAFKA = "listening for Kafka's clients on ";

    private final Path directory;
    private final List<String> flags;
    private final Map<String, String> environment;
    private Process process;
    private String url;
    /** Where Kafka's clients connect to, with {@code --kafka}. */
    private String kafka;

    private Broker(Path directory, List<String> flags, Map<String, String> environment) throws IOException {
        this.directory = directory;
        this.flags = flags;
        this.environment = environment;
        serve("127.0.0.1:0");
    }

    public static Broker start(String... flags) {
        try {
            Path directory = Files.createTempDirectory("rawline-java");
            List<String> all = new ArrayList<>(List.of(flags));
            if (!all.contains("--storage")) {
                all.addAll(List.of("--storage", directory.toString()));
            }
            return new Broker(directory, all, Map.of());
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }

    /** A new key in a file for {@code --keys}, with grants such as {@code --read}, {@code t}. */
    public static String addKey(Path keys, String name, String... grants) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary(), "key", "add", name, "--keys", keys.toString()));
        command.addAll(List.of(grants));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    }

    /** One on a new bucket, with a journal. */
    public static Broker onBucket(S3Server server, String bucket, String... flags) throws IOException {
        server.createBucket(bucket);
        return sharing(server, bucket, flags);
    }

    /** Another one on the same bucket. */
    public static Broker sharing(S3Server server, String bucket, String... flags) throws IOException {
        Path cache = Files.createTempDirectory("rawline-java");
        List<String> all = new ArrayList<>(List.of(flags));
        all.addAll(List.of("--storage", "s3://" + bucket, "--cache-dir", cache.toString()));
        return new Broker(cache, all, server.variables());
    }

    public String url() {
        return url;
    }

    public String kafka() {
        return kafka;
    }

    public Client client() {
        return new Client(url);
    }

    /** Kills the process, as a crash would; the page cache survives. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Starts it again, on the same directory and port. */
    public void startAgain() throws IOException {
        serve(url.substring(url.indexOf("://") + "://".length()));
    }

    /** Pauses the process: the system still accepts connections, but the broker doesn't respond until resume. */
    public void pause() throws IOException, InterruptedException {
        signal("STOP");
        // The signal stops each thread when it gets to it; until then the broker may still respond.
        while (!isPaused()) {
            Thread.onSpinWait();
        }
    }

    /** Resumes a paused process. */
    public void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    private boolean isPaused() throws IOException {
        Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
        if (!Files.isDirectory(threads)) {
            Process ps = new ProcessBuilder("ps", "-o", "state=", "-p", Long.toString(process.pid())).start();
            return new String(ps.getInputStream().readAllBytes(), StandardCharsets.UTF_8).startsWith("T");
        }
        try (Stream<Path> each = Files.list(threads)) {
            for (Path thread : each.toList()) {
                // "pid (name) state ...", where the name may contain any character.
                String stat = Files.readString(thread.resolve("stat"));
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
        }
        return true;
    }

    @Override
    public void close() throws IOException {
        kill();
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }

    private void serve(String listen) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary(), "serve", "--listen", listen, "--memory", "128MiB"));
        command.addAll(flags);
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().clear();
        builder.environment().putAll(environment);
        process = builder.start();
        BufferedReader stderr =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
        StringBuilder said = new StringBuilder();
        for (String line = stderr.readLine(); ; line = stderr.readLine()) {
            if (line == null) {
                throw new AssertionError("the broker ended: " + said);
            }
            said.append(line).append('\n');
            int kafkaAt = line.indexOf(KAFKA);
            kafka = kafkaAt < 0
                    ? kafka
                    : line.substring(kafkaAt + KAFKA.length()).trim();
            int at = line.indexOf("listening on http");
            if (at >= 0) {
                url = line.substring(at + "listening on ".length()).trim();
                break;
            }
        }
        // Keeps the broker from blocking on a full pipe.
        InputStream rest = process.getErrorStream();
        Thread drain = new Thread(() -> {
            try {
                rest.transferTo(OutputStream.nullOutputStream());
            } catch (IOException error) {
                // The broker has ended.
            }
        });
        drain.setDaemon(true);
        drain.start();
    }

    private static String binary() {
        String given = System.getProperty("rawline.bin", System.getenv("RAWLINE_BIN"));
        if (given != null) {
            return given;
        }
        for (String built : List.of("../target/debug/rawline", "../target/release/rawline")) {
            if (Files.isExecutable(Path.of(built))) {
                return built;
            }
        }
        throw new AssertionError("no broker to test with: run `cargo build --bin rawline`, or set RAWLINE_BIN");
    }
}
