/* JSON: Jackson and DSL-JSON. */
package io.rawline.lab.format;

import com.dslplatform.json.DslJson;
import com.dslplatform.json.JsonReader;
import com.dslplatform.json.JsonReader.DoublePrecision;
import com.dslplatform.json.JsonWriter;
import com.dslplatform.json.runtime.Settings;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import java.io.IOException;
import java.util.List;

public final class Json {
    private Json() {}

    public static List<RowKind> rows() {
        return List.of(
                new RowKind("json", "jackson-databind", Versions.of("jackson"), "", kase -> new Jackson(new JsonMapper(), kase)),
                new RowKind("json", "dsl-json", Versions.of("dsl-json"), "", Dsl::new));
    }

    /** Converters made for the classes at build time, one writer used again and again, as its documentation advises. */
    private static final class Dsl implements PlainRow<Message> {
        // Minimal, so that absent fields are left out as in the other rows; exact, because its default gives other doubles than were written.
        private final DslJson<Object> json =
                new DslJson<>(Settings.withRuntime().includeServiceLoader().skipDefaultValues(true).doublePrecision(DoublePrecision.EXACT));
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
            return kase == Case.DOUBLES ? Check.of(com.dslplatform.json.NumberConverter.deserializeDouble(reader)) : Check.of(reader.readString());
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
