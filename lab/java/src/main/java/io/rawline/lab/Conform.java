/* Conformance: every language reads what every row wrote and compares it with the messages, before any timing. */
package io.rawline.lab;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rawline.lab.message.Difference;
import io.rawline.lab.message.Message;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

final class Conform {
    private static final List<String> SIZES = List.of("base", "100", "10k");
    private static final int SECONDS_MAX = 30;
    private static final JsonMapper JSON = new JsonMapper();

    private Conform() {}

    /**
     * Of each message its length, u32 little-endian, and its bytes, to
     * lab/out/wire/java/LIBRARY[+VARIANT]/FORMAT.CASE.SIZE.bin.
     */
    static void write(Path lab) throws Exception {
        // Files of an earlier run must not count for this one.
        deleteAll(lab.resolve("out/wire/java"));
        for (RowKind kind : Rows.all()) {
            Path folder = Files.createDirectories(lab.resolve("out/wire/java").resolve(kind.folder()));
            for (Case kase : Case.values()) {
                for (String size : SIZES) {
                    Path file = folder.resolve(kind.format() + "." + kase.title() + "." + size + ".bin");
                    try {
                        Files.write(file, written(kind.open(kase), kase.messages(lab, size)));
                    } catch (Exception | LinkageError e) {
                        System.err.println(kind.id() + " does not write " + kase.title() + "." + size + ": " + e);
                    }
                }
            }
        }
    }

    private static void deleteAll(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> found = Files.walk(folder)) {
                for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    private static byte[] written(Row<Object, Object> row, List<Message> messages) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (Message message : messages) {
            byte[] bytes = row.bytes(row.encode(row.prepare(message)));
            out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(bytes.length).array());
            out.write(bytes);
        }
        return out.toByteArray();
    }

    /** Every row reads every file of its format; the outcomes go to lab/out/conformance.jsonl. */
    static void read(Path lab) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.walk(lab.resolve("out/wire"), 3)) {
            files = found.filter(file -> file.toString().endsWith(".bin")).sorted().toList();
        }
        StringBuilder lines = new StringBuilder();
        int failed = 0;
        int checked = 0;
        for (RowKind kind : Rows.all()) {
            for (Path file : files) {
                String[] name = file.getFileName().toString().split("\\.");
                if (name.length != 4 || !name[0].equals(kind.format()) || !SIZES.contains(name[2])
                        || isPacked(kind.folder()) != isPacked(writer(file))) {
                    continue;
                }
                Case kase = Case.of(name[1]);
                List<Message> expected = kase.messages(lab, name[2]);
                String error = inTime(() -> error(kind, kase, file, expected));
                lines.append(line(kind, file, name, error)).append('\n');
                checked++;
                if (!error.isEmpty()) {
                    failed++;
                    System.err.println(kind.id() + " does not read " + lab.relativize(file) + ": " + error);
                }
            }
        }
        Files.writeString(lab.resolve("out/conformance.jsonl"), lines, StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
        System.err.println(checked + " files read, " + failed + " not as they were written");
    }

    /** The writer's library and variant. */
    private static String writer(Path file) {
        return file.getParent().getFileName().toString();
    }

    /**
     * Cap'n Proto's packed bytes have the format's name and the variant's; only packed readers read them, and nothing
     * else.
     */
    private static boolean isPacked(String libraryAndVariant) {
        return libraryAndVariant.contains("+packed");
    }

    /** Cap'n Proto's unpacking never returns if bytes are missing, and a thread can't be stopped: it is abandoned. */
    private static String inTime(Callable<String> check) {
        FutureTask<String> task = new FutureTask<>(check);
        Thread thread = new Thread(task, "conform");
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(SECONDS_MAX, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            return "not read within " + SECONDS_MAX + " s";
        } catch (InterruptedException | ExecutionException e) {
            return e.toString();
        }
    }

    /** The error in the file, or "". Whatever a reader throws at foreign bytes is an error, not a crash. */
    private static String error(RowKind kind, Case kase, Path file, List<Message> expected) {
        try {
            Row<Object, Object> row = kind.open(kase);
            List<byte[]> wire = split(Files.readAllBytes(file));
            if (wire.size() != expected.size()) {
                return expected.size() + " messages expected, there are " + wire.size();
            }
            for (int i = 0; i < wire.size(); i++) {
                String difference = Difference.of(expected.get(i), row.restore(row.decode(wire.get(i))));
                if (!difference.isEmpty()) {
                    return "message " + i + difference;
                }
            }
            return "";
        } catch (Exception | LinkageError | StackOverflowError e) {
            return e.toString();
        }
    }

    private static List<byte[]> split(byte[] file) throws IOException {
        List<byte[]> messages = new ArrayList<>();
        ByteBuffer left = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        try {
            while (left.hasRemaining()) {
                int length = left.getInt();
                if (length < 0 || length > left.remaining()) {
                    throw new IOException("the file ends inside a message; write it again");
                }
                byte[] message = new byte[length];
                left.get(message);
                messages.add(message);
            }
        } catch (BufferUnderflowException e) {
            throw new IOException("the file ends inside a length; write it again", e);
        }
        return messages;
    }

    private static String line(RowKind reader, Path file, String[] name, String error) throws IOException {
        String[] writer = writer(file).split("\\+", 2);
        ObjectNode line = JSON.createObjectNode();
        line.putObject("writer").put("language", file.getParent().getParent().getFileName().toString()).put("library",
                writer[0])
                .put("variant", writer.length > 1 ? writer[1] : "");
        line.putObject("reader").put("language", "java").put("library", reader.library()).put("variant",
                reader.variant());
        line.put("format", name[0]).put("case", name[1]).put("size", name[2]).put("ok", error.isEmpty()).put("error",
                error);
        return JSON.writeValueAsString(line);
    }
}
