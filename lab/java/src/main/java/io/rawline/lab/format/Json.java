/* JSON: Jackson 2, Jackson 3 and DSL-JSON. */
package io.rawline.lab.format;

import com.dslplatform.json.DslJson;
import com.dslplatform.json.JsonReader;
import com.dslplatform.json.JsonReader.DoublePrecision;
import com.dslplatform.json.JsonWriter;
import com.dslplatform.json.runtime.Settings;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import java.io.IOException;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.ObjectMapper;
import java.util.List;

public final class Json {
    private Json() {}

    public static List<RowKind> rows() {
        return List.of(
                new RowKind("json", "jackson-databind", Versions.of("jackson"), "",
                        kase -> new Jackson(new JsonMapper(), kase)),
                new RowKind("json", "jackson-databind-3", Versions.of("jackson3"), "", Jackson3::new),
                new RowKind("json", "dsl-json", Versions.of("dsl-json"), "", Dsl::new));
    }

    /** Databind of Jackson 3, used as Jackson 2 is: one mapper for all; one field by the streaming parser below it. */
    private static final class Jackson3 implements PlainRow<Message> {
        private final ObjectMapper mapper = tools.jackson.databind.json.JsonMapper.builder()
                .changeDefaultPropertyInclusion(included -> included.withValueInclusion(JsonInclude.Include.NON_NULL))
                .build();
        private final Case kase;

        Jackson3(Case kase) {
            this.kase = kase;
        }

        @Override
        public Object encode(Message message) {
            return mapper.writeValueAsBytes(message);
        }

        @Override
        public Message decode(byte[] bytes) {
            return mapper.readValue(bytes, kase.type);
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            try (JsonParser parser = mapper.createParser(bytes)) {
                parser.nextToken();
                for (String name : kase.fieldPath) {
                    find(parser, name);
                }
                return kase == Case.DOUBLES ? Check.of(parser.getDoubleValue()) : Check.of(parser.getString());
            }
        }

        private static void find(JsonParser parser, String name) throws IOException {
            for (String found = parser.nextName(); found != null; found = parser.nextName()) {
                parser.nextToken();
                if (found.equals(name)) {
                    return;
                }
                parser.skipChildren();
            }
            throw new IOException("the message has no field " + name);
        }
    }

    /** Converters generated for the classes at build time, one reused writer, as its documentation advises. */
    private static final class Dsl implements PlainRow<Message> {
        // Minimal, so that absent fields are left out as in the other rows; exact, because its default rounds doubles.
        private final DslJson<Object> json =
                new DslJson<>(Settings.withRuntime().includeServiceLoader().skipDefaultValues(true)
                        .doublePrecision(DoublePrecision.EXACT));
        private final JsonWriter writer = json.newWriter();
        private final JsonReader<Object> reader = json.newReader();
        private final Case kase;

        Dsl(Case kase) {
            this.kase = kase;
        }

        @Override
        public Object encode(Message message) throws IOException {
            writer.reset();
            json.serialize(writer, message);
            return writer;
        }

        @Override
        public byte[] bytes(Object encoded) {
            return writer.toByteArray();
        }

        @Override
        public Message decode(byte[] bytes) throws IOException {
            return json.deserialize(kase.type, bytes, bytes.length);
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            reader.process(bytes, bytes.length);
            reader.getNextToken();
            for (String name : kase.fieldPath) {
                find(name);
            }
            return kase == Case.DOUBLES ? Check.of(com.dslplatform.json.NumberConverter.deserializeDouble(reader))
                    : Check.of(reader.readString());
        }

        /** From the start of an object to the value of its field. */
        private void find(String name) throws IOException {
            byte token = reader.getNextToken();
            while (token == '"') {
                reader.fillName();
                reader.getNextToken();
                if (reader.wasLastName(name)) {
                    return;
                }
                if (reader.skip() == ',') {
                    token = reader.getNextToken();
                } else {
                    break;
                }
            }
            throw new IOException("the message has no field " + name);
        }
    }
}
