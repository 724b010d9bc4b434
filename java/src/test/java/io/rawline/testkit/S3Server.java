package io.rawline.testkit;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** A real S3 server for tests, on a new directory and a free port. */
public final class S3Server implements AutoCloseable {
    private static final String ACCESS_KEY = "test";
    private static final String SECRET_KEY = "testtesttest";

    private final Path directory;
    private final Process process;
    private final int port;

    private S3Server(Path program) throws IOException {
        directory = Files.createTempDirectory("rawline-java-s3");
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        ProcessBuilder builder = new ProcessBuilder(
                        program.toString(), "--port", "127.0.0.1:" + port, "--quiet", "posix", directory.toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().put("ROOT_ACCESS_KEY", ACCESS_KEY);
        builder.environment().put("ROOT_SECRET_KEY", SECRET_KEY);
        process = builder.start();
        while (!isReady()) {
            if (!process.isAlive()) {
                throw new IOException(program + " ended");
            }
        }
    }

    /** The server, unless it isn't installed. */
    public static Optional<S3Server> start() throws IOException {
        String given = System.getenv("RAWLINE_S3_SERVER");
        Path program = Path.of(given != null ? given : "../.tools/bin/versitygw");
        return Files.isExecutable(program) ? Optional.of(new S3Server(program)) : Optional.empty();
    }

    private boolean isReady() {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return socket.isConnected();
        } catch (IOException error) {
            return false;
        }
    }

    /** The variables that lead a broker to the server. */
    Map<String, String> variables() {
        return Map.of(
                "AWS_ENDPOINT_URL", "http://127.0.0.1:" + port,
                "AWS_ACCESS_KEY_ID", ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    }

    void createBucket(String name) throws IOException {
        Files.createDirectory(directory.resolve(name));
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly().onExit().join();
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }
}
