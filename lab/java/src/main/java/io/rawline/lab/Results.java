/* Figures are appended to lab/out/results.jsonl with all that they depend on. */
package io.rawline.lab;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

final class Results {
    private static final JsonMapper JSON = new JsonMapper();

    private Results() {}

    static void append(Path lab, RowKind kind, Case kase, Task task, Outcome outcome,
            boolean quick) throws IOException {
        ObjectNode line = JSON.createObjectNode();
        line.put("run", environment("LAB_RUN")).put("commit", environment("LAB_COMMIT"));
        line.put("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        line.set("machine", Machine.described());
        line.put("language", "java").put("runtime", "OpenJDK " + System.getProperty("java.version"));
        line.put("harness", "jmh " + Versions.of("jmh")).put("jobs", 1);
        line.put("format", kind.format()).put("library", kind.library()).put("version", kind.version()).put("variant",
                kind.variant());
        line.put("case", kase.title()).put("size", outcome.size()).put("messages", task.messages());
        line.put("operation", outcome.operation()).put("threads", task.threads());
        line.put("ns", rounded(outcome.ns())).put("ns_low", rounded(outcome.low())).put("ns_high",
                rounded(outcome.high()));
        line.put("confidence", Fork.CONFIDENCE);
        if (Double.isNaN(outcome.allocated())) {
            line.putNull("alloc_bytes");
        } else {
            line.put("alloc_bytes", rounded(outcome.allocated()));
        }
        if (quick) {
            line.put("quick", true);
        }
        Files.writeString(lab.resolve("out/results.jsonl"), JSON.writeValueAsString(line)
                + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static String environment(String name) {
        return System.getenv().getOrDefault(name, "");
    }

    private static double rounded(double number) {
        return Math.round(number * 100) / 100.0;
    }
}
