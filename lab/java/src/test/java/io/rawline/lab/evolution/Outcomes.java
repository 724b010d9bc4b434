// Outcomes of reading bytes with another schema than they were written with, recorded and compared with the expected
// ones.
package io.rawline.lab.evolution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class Outcomes {
    private static final ObjectMapper JSON = new ObjectMapper();
    // Maven runs tests in the module's folder.
    private static final Path EVOLUTION = Path.of("../evolution").toAbsolutePath().normalize();
    private static final String[] WORDS = {"same", "default", "lost", "wrong"};

    private Outcomes() {
    }

    /** A format with a schema on each side. */
    interface Format {
        String name();

        String library();

        /** Notes on a change, by its name, or by its name and the direction. */
        Map<String, String> notes();

        byte[] write(Change change, boolean byNew, Map<String, Object> message) throws Exception;

        /** The fields that the schema of that side has; absent fields are null. */
        Map<String, Object> read(Change change, boolean byNew, byte[] bytes) throws Exception;
    }

    /** Every change in both directions; fails at the end if an outcome was not the expected one. */
    static void run(Format format) throws Exception {
        List<String> unexpected = new ArrayList<>();
        for (Change change : Change.ALL) {
            for (boolean writtenByNew : new boolean[] {false, true}) {
                if (change.onlyNewBytes() && !writtenByNew) {
                    continue;
                }
                Map<String, Object> written = writtenByNew ? change.newMessage() : change.oldMessage();
                byte[] bytes = format.write(change, writtenByNew, written);
                assertEquals(written, present(format.read(change, writtenByNew, bytes)),
                        format.name() + ": " + change.name());
                String outcome;
                String error = "";
                try {
                    outcome = classify(change, writtenByNew, written, format.read(change, !writtenByNew, bytes));
                } catch (Exception thrown) {
                    Throwable cause = thrown instanceof ReflectiveOperationException && thrown.getCause() != null
                            ? thrown.getCause() : thrown;
                    outcome = "error";
                    error = cause.toString();
                }
                String direction = writtenByNew ? "new bytes, old schema" : "old bytes, new schema";
                String note = format.notes().get(change.name() + ", " + direction);
                if (note == null) {
                    note = format.notes().getOrDefault(change.name(), "");
                }
                record(format, change.name(), direction, outcome, note, error);
                String expected = expected(format.name(), change.name(), direction);
                if (!outcome.equals(expected)) {
                    unexpected.add(change.name() + ", " + direction + ": " + outcome + ", expected " + expected + " "
                            + error);
                }
            }
        }
        if (System.getenv("EVOLUTION_ACCEPT") == null) {
            assertTrue(unexpected.isEmpty(), "different from expected.json:\n" + String.join("\n", unexpected));
        }
    }

    private static Map<String, Object> present(Map<String, Object> fields) {
        Map<String, Object> present = new LinkedHashMap<>(fields);
        present.values().removeIf(value -> value == null);
        return present;
    }

    /** The worst outcome of the fields that the reader has. */
    private static String classify(Change change, boolean writtenByNew, Map<String, Object> written, Map<String,
            Object> read) {
        int worst = 0;
        for (Map.Entry<String, Object> field : read.entrySet()) {
            String source = field.getKey();
            if (source.equals(writtenByNew ? change.oldName() : change.newName())) {
                source = writtenByNew ? change.newName() : change.oldName();
            }
            Object value = field.getValue();
            boolean nothing = value == null || (value instanceof Number number && number.doubleValue() == 0);
            Object meant = written.get(source);
            if (meant == null) {
                worst = Math.max(worst, nothing ? 1 : 3);
            } else if (!equal(meant, value)) {
                worst = Math.max(worst, nothing ? 2 : 3);
            }
        }
        return WORDS[worst];
    }

    private static boolean equal(Object one, Object other) {
        if (one instanceof Number first && other instanceof Number second) {
            return first.doubleValue() == second.doubleValue();
        }
        return one.equals(other);
    }

    private static void record(Format format, String change, String direction, String outcome, String note,
            String error)
            throws IOException {
        Map<String, String> line = new LinkedHashMap<>();
        line.put("format", format.name());
        line.put("library", format.library());
        line.put("change", change);
        line.put("direction", direction);
        line.put("outcome", outcome);
        line.put("note", note);
        line.put("error", error);
        Path path = Files.createDirectories(EVOLUTION.resolve("../out")).resolve("evolution.jsonl");
        Files.writeString(path, JSON.writeValueAsString(line) + "\n", StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    private static String expected(String format, String change, String direction) throws IOException {
        Path path = EVOLUTION.resolve("expected.json");
        if (Files.exists(path)) {
            for (JsonNode outcome : JSON.readTree(path.toFile()).path("outcomes")) {
                if (outcome.path("format").asText().equals(format)
                        && outcome.path("change").asText().equals(change)
                        && outcome.path("direction").asText().equals(direction)) {
                    return outcome.path("outcome").asText();
                }
            }
        }
        return "nothing";
    }
}
