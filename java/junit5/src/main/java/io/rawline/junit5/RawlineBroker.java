package io.rawline.junit5;

import io.rawline.Client;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A broker for a test: a process of the program {@code rawline}, which is the one at {@code RAWLINE_BIN} or on {@code
 * PATH}. It ends with {@link #close}, and at the latest with this process.
 */
public final class RawlineBroker implements AutoCloseable {
    /** Storage in memory: nothing remains. */
    public static final String MEMORY = "memory:";

    /** Storage in a temporary directory, on which the broker can be restarted. */
    public static final String DIRECTORY = "directory";

    private static final String FREE = "127.0.0.1:0";
    private static final Pattern READY = Pattern.compile("\"url\":\"([^\"]+)\",\"kafka\":\"([^\"]+)\"");

    /** Milliseconds between two looks for a broker that starts: short against its start. */
    private static final long POLL_MS = 1;

    private static final Duration START_MAX = Duration.ofSeconds(30);

    private final Path folder;
    private final String storage;
    private final List<String> flags;
    private Process process;
    private String url;
    private String kafka;

    private RawlineBroker(Path folder, String storage, List<String> flags) {
        this.folder = folder;
        this.storage = storage;
        this.flags = flags;
    }

    /**
     * Starts a broker in memory.
     *
     * @return once it is ready
     */
    public static RawlineBroker start() {
        return start(MEMORY, List.of());
    }

    /**
     * Starts a broker.
     *
     * @param storage {@link #MEMORY}, {@link #DIRECTORY}, or a value of {@code --storage}, such as a path
     * @param flags more flags of {@code rawline serve}; variables that begin with {@code RAWLINE_} don't reach it
     * @return once it is ready
     */
    public static RawlineBroker start(String storage, List<String> flags) {
        try {
            Path folder = Files.createTempDirectory("rawline-");
            String place = storage.equals(DIRECTORY) ? folder.resolve("data").toString() : storage;
            RawlineBroker broker = new RawlineBroker(folder, place, List.copyOf(flags));
            try {
                broker.serve(FREE, FREE);
            } catch (RuntimeException | IOException error) {
                broker.close();
                throw error;
            }
            return broker;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * The address for our clients.
     *
     * @return a URL
     */
    public String url() {
        return url;
    }

    /**
     * The address for Kafka's clients.
     *
     * @return host and port: {@code bootstrap.servers}
     */
    public String kafka() {
        return kafka;
    }

    /**
     * A new client of this broker.
     *
     * @return with the default settings
     */
    public Client client() {
        return new Client(url);
    }

    /**
     * What the broker wrote to stderr.
     *
     * @return lines
     */
    public String log() {
        try {
            // Not `readString`, which fails if a line ends within a character.
            return new String(Files.readAllBytes(folder.resolve("log")), StandardCharsets.UTF_8);
        } catch (IOException error) {
            return "(" + error + ")";
        }
    }

    /** Kills the broker, as a crash would. */
    public void kill() {
        end(true);
    }

    /** Stops the broker: it commits pending appends, and ends. */
    public void stop() {
        end(false);
    }

    /** Starts the broker again on the same storage and ports; stops it before, if it runs. */
    public void restart() {
        if (storage.equals(MEMORY)) {
            throw new BrokerException("memory is lost when a broker ends; restart one with RawlineBroker.DIRECTORY");
        }
        stop();
        try {
            serve(url.substring(url.indexOf("://") + "://".length()), kafka);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Whether {@link #kill}, {@link #stop} or {@link #close} has ended it.
     *
     * @return false also for a broker that has ended by itself
     */
    public boolean isStopped() {
        return process == null;
    }

    /** Throws {@link BrokerException}, with what the broker wrote to stderr, if it has ended or was stopped. */
    public void check() {
        if (process == null) {
            throw new BrokerException("the broker was stopped; start it with restart()");
        }
        if (!process.isAlive()) {
            throw new BrokerException("the broker has ended (exit code " + process.exitValue() + "):\n" + log());
        }
    }

    /** Ends the broker, and deletes its temporary directory. */
    @Override
    public void close() {
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void serve(String listen, String kafkaListen) throws IOException {
        Path ready = folder.resolve("ready.json");
        // One that was killed leaves it.
        Files.deleteIfExists(ready);
        List<String> command = new ArrayList<>(List.of(program(), "serve", "--storage", storage));
        command.addAll(List.of("--listen", listen, "--kafka", kafkaListen));
        command.addAll(List.of("--ready-file", ready.toString(), "--stop-with-stdin"));
        if (!flags.contains("--durability")) {
            // A process that is killed loses no page of the cache.
            command.addAll(List.of("--durability", "page-cache"));
        }
        command.addAll(flags);
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(Redirect.DISCARD);
        builder.redirectError(Redirect.appendTo(folder.resolve("log").toFile()));
        builder.environment().keySet().removeIf(name -> name.startsWith("RAWLINE_"));
        process = builder.start();
        long deadline = System.nanoTime() + START_MAX.toNanos();
        while (!Files.exists(ready)) {
            check();
            if (System.nanoTime() > deadline) {
                throw new BrokerException("the broker isn't ready after " + START_MAX + ":\n" + log());
            }
            pause();
        }
        String text = Files.readString(ready);
        Matcher found = READY.matcher(text);
        if (!found.find()) {
            throw new BrokerException("the broker's ready file has no addresses: " + text);
        }
        url = found.group(1);
        kafka = found.group(2);
    }

    private static void pause() {
        try {
            Thread.sleep(POLL_MS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new BrokerException("interrupted while the broker starts", error);
        }
    }

    private void end(boolean isCrash) {
        Process ending = process;
        process = null;
        if (ending != null) {
            (isCrash ? ending.destroyForcibly() : stopped(ending)).onExit().join();
        }
    }

    private static Process stopped(Process process) {
        process.destroy();
        return process;
    }

    private static String program() {
        String given = System.getenv("RAWLINE_BIN");
        if (given != null && !given.isEmpty()) {
            if (Files.isExecutable(Path.of(given))) {
                return given;
            }
            throw new BrokerException(
                    "RAWLINE_BIN is " + given + ", which is not a program; set it to that of rawline");
        }
        for (String place : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path program = Path.of(place, "rawline");
            if (Files.isRegularFile(program) && Files.isExecutable(program)) {
                return program.toString();
            }
        }
        throw new BrokerException("no program rawline on PATH; install it, or set RAWLINE_BIN to its path");
    }
}
