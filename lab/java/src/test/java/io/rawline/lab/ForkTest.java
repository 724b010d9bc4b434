/* A measurement has a figure for each operation and size, with its interval and allocated bytes. */
package io.rawline.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ForkTest {
    @Test
    void measuresEachOperationOnEachSize() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            Task task = new Task(List.of("encode", "decode"), List.of("base", "1k"), "varied", 2, 20, 50);
            assertEquals(task, Task.of(task.words()));
            Fork.main(Stream.concat(Stream.of("json/jackson-databind", "zeek"),
                    task.words().stream()).toArray(String[]::new));
        } finally {
            System.setOut(before);
        }
        List<Outcome> outcomes =
                out.toString(StandardCharsets.UTF_8).lines().map(Outcome::ofLine).filter(Objects::nonNull).toList();
        TreeSet<String> measured = new TreeSet<>();
        for (Outcome outcome : outcomes) {
            measured.add(outcome.operation() + " " + outcome.size());
            assertTrue(outcome.ns() > 0 && outcome.low() <= outcome.ns() && outcome.ns() <= outcome.high(),
                    outcome.toString());
            // Jackson allocates a new array, or new objects, each time.
            assertTrue(outcome.allocated() > 100, outcome.toString());
            assertEquals(outcome, Outcome.ofLine(outcome.toLine()));
        }
        assertEquals(new TreeSet<>(List.of("decode 1k", "decode base", "encode 1k", "encode base")), measured);
    }
}
