// SBE: a field is its position in a block, after the block's length and version; a layout can't be undone.
package io.rawline.lab.evolution;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import uk.co.real_logic.sbe.SbeTool;

@SuppressWarnings({"unchecked", "rawtypes"})
class SbeTest {
    /** A field: its name, its type, and its other attributes. */
    private record Field(String name, String type, String more) {
    }

    private static final Field COUNT = new Field("count", "int32", "");
    private static final Field WIDE = new Field("count", "int64", "");
    private static final Field WIDTH = new Field("width", "int32", "");
    private static final Field HEIGHT = new Field("height", "int32", "");
    private static final Field KIND = new Field("kind", "Kind", "");

    private static final Map<String, List<List<Field>>> SCHEMAS = Map.of(
            "field added, with a default",
                    List.of(List.of(), List.of(new Field("grade", "optionalInt", "sinceVersion=\"1\""))),
            "field added, without a default",
                    List.of(List.of(), List.of(new Field("grade", "int32", "sinceVersion=\"1\""))),
            "field removed", List.of(List.of(COUNT), List.of(new Field("count", "int32", "deprecated=\"1\""))),
            "field renamed", List.of(List.of(COUNT), List.of(new Field("quantity", "int32", ""))),
            "i32 widened to i64", List.of(List.of(COUNT), List.of(WIDE)),
            "i32 widened to i64, value beyond i32", List.of(List.of(COUNT), List.of(WIDE)),
            "i64 changed to f64", List.of(List.of(WIDE), List.of(new Field("count", "double", ""))),
            "fields reordered", List.of(List.of(WIDTH, HEIGHT), List.of(HEIGHT, WIDTH)),
            "optional made required",
                    List.of(List.of(new Field("note", "optionalInt", "")), List.of(new Field("note", "int32", ""))),
            "enum symbol added", List.of(List.of(KIND), List.of(KIND)));

    @TempDir
    Path folder;

    /** SBE with its tool's classes, which check no bounds but the buffer's. */
    private final class Sbe implements Outcomes.Format {
        private final Map<String, ClassLoader> loaders = new HashMap<>();

        @Override
        public String name() {
            return "sbe";
        }

        @Override
        public String library() {
            return "sbe-tool";
        }

        @Override
        public Map<String, String> notes() {
            return Map.ofEntries(
                    Map.entry("field added, with a default, old bytes, new schema",
                            "at the block's end, with sinceVersion; the only default is null"),
                    Map.entry("field added, without a default, old bytes, new schema",
                            "at the block's end, with sinceVersion; the null value is read"),
                    Map.entry("field removed", "marked deprecated and written as null: its position stays"),
                    Map.entry("field renamed", "names are not in the bytes"),
                    Map.entry("i32 widened to i64", "what follows the number is read as its upper half"),
                    Map.entry("i32 widened to i64, new bytes, old schema",
                            "the low bytes come first, and the block's length is in the bytes"),
                    Map.entry("i32 widened to i64, value beyond i32", "cut to its low 32 bits"),
                    Map.entry("i64 changed to f64", "the bits are read as the other type"),
                    Map.entry("optional made required, old bytes, new schema",
                            "the null value is read as a number, unchecked"),
                    Map.entry("enum symbol added, new bytes, old schema", "unless generated with a catch-all symbol"),
                    Map.entry("fields reordered", "a field's position is its order in the schema"));
        }

        @Override
        public byte[] write(Change change, boolean byNew, Map<String, Object> message) throws Exception {
            ClassLoader loader = loader(change, byNew);
            Object header = loader.loadClass("evolution.MessageHeaderEncoder").getConstructor().newInstance();
            Object encoder = loader.loadClass("evolution.MessageEncoder").getConstructor().newInstance();
            UnsafeBuffer buffer = new UnsafeBuffer(new byte[256]);
            // After the message come nonzero bytes, as in a reused buffer.
            Arrays.fill(buffer.byteArray(), (byte) 0x55);
            encoder.getClass()
                    .getMethod("wrapAndApplyHeader", MutableDirectBuffer.class, int.class, header.getClass())
                    .invoke(encoder, buffer, 0, header);
            set(encoder, "id", message.get("id"));
            for (Field field : SCHEMAS.get(change.name()).get(byNew ? 1 : 0)) {
                Object value = message.get(field.name());
                set(encoder, field.name(), value == null ? nullValue(encoder, field.name()) : value);
            }
            byte[] name = ((String) message.get("name")).getBytes(StandardCharsets.UTF_8);
            encoder.getClass().getMethod("putName", byte[].class, int.class, int.class).invoke(encoder, name, 0,
                    name.length);
            return buffer.byteArray();
        }

        @Override
        public Map<String, Object> read(Change change, boolean byNew, byte[] bytes) throws Exception {
            ClassLoader loader = loader(change, byNew);
            Object header = loader.loadClass("evolution.MessageHeaderDecoder").getConstructor().newInstance();
            Object decoder = loader.loadClass("evolution.MessageDecoder").getConstructor().newInstance();
            decoder.getClass()
                    .getMethod("wrapAndApplyHeader", DirectBuffer.class, int.class, header.getClass())
                    .invoke(decoder, new UnsafeBuffer(bytes), 0, header);
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("id", decoder.getClass().getMethod("id").invoke(decoder));
            for (Field field : SCHEMAS.get(change.name()).get(byNew ? 1 : 0)) {
                Object value = decoder.getClass().getMethod(field.name()).invoke(decoder);
                if (value instanceof Enum<?> symbol) {
                    value = symbol.name();
                } else if (value.equals(nullValue(decoder, field.name()))) {
                    value = null;
                }
                if (!field.more().startsWith("deprecated")) {
                    fields.put(field.name(), value);
                }
            }
            fields.put("name", decoder.getClass().getMethod("name").invoke(decoder));
            return fields;
        }

        private ClassLoader loader(Change change, boolean byNew) throws Exception {
            String key = change.name() + byNew;
            if (!loaders.containsKey(key)) {
                Path sources = Files.createDirectories(folder.resolve("sbe" + loaders.size()));
                Path schema = sources.resolve("schema.xml");
                Files.writeString(schema, schema(SCHEMAS.get(change.name()).get(byNew ? 1 : 0), byNew));
                generate(schema, sources);
                loaders.put(key, Compiled.load(sources));
            }
            return loaders.get(key);
        }
    }

    private static void set(Object encoder, String name, Object value) throws Exception {
        for (Method method : encoder.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == 1) {
                Class<?> type = method.getParameterTypes()[0];
                method.invoke(encoder, type.isEnum() ? Enum.valueOf((Class) type, (String) value) : value);
                return;
            }
        }
        throw new IllegalStateException("the encoder has no field " + name);
    }

    private static Object nullValue(Object flyweight, String name) throws Exception {
        return flyweight.getClass().getMethod(name + "NullValue").invoke(null);
    }

    private static void generate(Path schema, Path sources) throws Exception {
        System.setProperty("sbe.output.dir", sources.toString());
        System.setProperty("sbe.target.language", "Java");
        System.setProperty("sbe.validation.stop.on.error", "true");
        SbeTool.main(new String[] {schema.toString()});
    }

    private static String schema(List<Field> fields, boolean byNew) {
        StringBuilder lines = new StringBuilder();
        int id = 2;
        for (Field field : fields) {
            lines.append("<field name=\"%s\" id=\"%d\" type=\"%s\" %s/>\n".formatted(field.name(), id++, field.type(),
                    field.more()));
        }
        return """
                <?xml version="1.0" encoding="UTF-8"?>
                <sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="evolution"
                 id="1" version="%d" byteOrder="littleEndian">
                  <types>
                    <composite name="messageHeader">
                      <type name="blockLength" primitiveType="uint16"/>
                      <type name="templateId" primitiveType="uint16"/>
                      <type name="schemaId" primitiveType="uint16"/>
                      <type name="version" primitiveType="uint16"/>
                    </composite>
                    <composite name="varStringEncoding">
                      <type name="length" primitiveType="uint32" maxValue="1073741824"/>
                      <type name="varData" primitiveType="uint8" length="0" characterEncoding="UTF-8"/>
                    </composite>
                    <type name="optionalInt" primitiveType="int32" presence="optional"/>
                    <enum name="Kind" encodingType="uint8">
                      <validValue name="LAMP">0</validValue>
                      <validValue name="DESK">1</validValue>
                      %s
                    </enum>
                  </types>
                  <sbe:message name="Message" id="1">
                    <field name="id" id="1" type="int64"/>
                    %s
                    <data name="name" id="99" type="varStringEncoding"/>
                  </sbe:message>
                </sbe:messageSchema>
                """
                .formatted(byNew ? 1 : 0, byNew ? "<validValue name=\"CHAIR\">2</validValue>" : "", lines);
    }

    @Test
    void everyChange() throws Exception {
        Outcomes.run(new Sbe());
    }
}
