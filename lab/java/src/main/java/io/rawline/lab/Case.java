/* The six cases, and the paths of their messages. */
package io.rawline.lab;

import com.dslplatform.json.DslJson;
import com.dslplatform.json.JsonReader.DoublePrecision;
import com.dslplatform.json.runtime.Settings;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Message;
import io.rawline.lab.message.Order;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.lab.message.Zeek;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A case of the laboratory: its class, and the path to its one field. */
public enum Case {
    PINGPONG(PingPong.class, "message"),
    DOUBLES(Doubles.class, "single_3"),
    STRINGS(Strings.class, "string_3"),
    ZEEK(Zeek.class, "query"),
    MEASUREMENT(Measurement.class, "metric"),
    ORDER(Order.class, "customer", "name");

    public final Class<? extends Message> type;
    public final List<String> fieldPath;

    Case(Class<? extends Message> type, String... fieldPath) {
        this.type = type;
        this.fieldPath = List.of(fieldPath);
    }

    /** As in file names and results. */
    public String title() {
        return name().toLowerCase(Locale.ROOT);
    }

    public static Case of(String title) {
        return valueOf(title.toUpperCase(Locale.ROOT));
    }

    /**
     * The case's messages of that size, in the file's order. DSL-JSON reads them: its readers are generated for the
     * class at build time, so no code that another row uses has seen other types before.
     */
    public List<Message> messages(Path lab, String size) throws IOException {
        DslJson<Object> json =
                new DslJson<>(Settings.withRuntime().includeServiceLoader().doublePrecision(DoublePrecision.EXACT));
        List<Message> messages = new ArrayList<>();
        Path file = lab.resolve("out/cases/" + title() + "." + size + ".jsonl");
        if (!Files.exists(file)) {
            throw new IOException(file + " does not exist; create it with python3 lab/cases/generate.py");
        }
        for (String line : Files.readAllLines(file)) {
            byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
            messages.add(json.deserialize(type, bytes, bytes.length));
        }
        if (messages.isEmpty()) {
            throw new IOException(file + " has no messages; create it again with python3 lab/cases/generate.py");
        }
        return messages;
    }
}
