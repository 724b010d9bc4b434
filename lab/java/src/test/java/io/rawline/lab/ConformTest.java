/* Conformance distinguishes bytes of equal messages from others. */
package io.rawline.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConformTest {
    @TempDir Path lab;

    @Test
    void aWriterThatSaysSomethingElseIsFound() throws Exception {
        List<String> lines = Files.readAllLines(Lab.folder().resolve("out/cases/measurement.base.jsonl")).subList(0, 3);
        Files.createDirectories(lab.resolve("out/cases"));
        Files.write(lab.resolve("out/cases/measurement.base.jsonl"), lines);
        write("right", String.join("\n", lines));
        write("other value", String.join("\n", lines).replaceFirst("\"value\":1}", "\"value\":2}"));
        write("one message less", String.join("\n", lines.subList(0, 2)));
        write("no JSON", "{\n{\n{");

        Conform.read(lab);

        Map<String, String> errors = new TreeMap<>();
        for (String line : Files.readAllLines(lab.resolve("out/conformance.jsonl"))) {
            JsonNode check = new JsonMapper().readTree(line);
            assertEquals(check.get("error").asText().isEmpty(), check.get("ok").asBoolean(), line);
            errors.put(check.at("/reader/library").asText() + " " + check.at("/writer/library").asText(),
                    check.get("error").asText());
        }
        assertEquals(12, errors.size(), errors.toString());
        for (String reader : List.of("jackson-databind", "jackson-databind-3", "dsl-json")) {
            assertEquals("", errors.get(reader + " right"));
            assertEquals("message 0.value: expected 1, got 2", errors.get(reader + " other value"));
            assertEquals("3 messages expected, there are 2", errors.get(reader + " one message less"));
            assertTrue(errors.get(reader + " no JSON").contains("Exception"), errors.toString());
        }
    }

    /** As if a program of another language had written these lines. */
    private void write(String library, String lines) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (String line : lines.split("\n")) {
            byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
            out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(bytes.length).array());
            out.write(bytes);
        }
        Path folder = Files.createDirectories(lab.resolve("out/wire/other").resolve(library));
        Files.write(folder.resolve("json.measurement.base.bin"), out.toByteArray());
    }
}
