// The JDK's serialization: the bytes describe the class's fields by name and type, and the class must know a number of
// its version.
package io.rawline.lab.evolution;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InvalidClassException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings({"unchecked", "rawtypes"})
class JdkTest {
    private static final Map<String, List<String>> SCHEMAS = Map.of(
            "field added, with a default", List.of("", "public int grade = 5;"),
            "field added, without a default", List.of("", "public int grade;"),
            "field removed", List.of("public int count;", ""),
            "field renamed", List.of("public int count;", "public int quantity;"),
            "i32 widened to i64", List.of("public int count;", "public long count;"),
            "i32 widened to i64, value beyond i32", List.of("public int count;", "public long count;"),
            "i64 changed to f64", List.of("public long count;", "public double count;"),
            "fields reordered", List.of("public int width; public int height;", "public int height; public int width;"),
            "optional made required", List.of("public Integer note;", "public Integer note;"),
            "enum symbol added", List.of("public Kind kind;", "public Kind kind;"));

    @TempDir
    Path folder;

    /** The JDK's serialization of classes that declare the same serialVersionUID. */
    private final class Jdk implements Outcomes.Format {
        private final String version;
        private final Map<String, ClassLoader> loaders = new HashMap<>();

        Jdk(String version) {
            this.version = version;
        }

        @Override
        public String name() {
            return "jdk";
        }

        @Override
        public String library() {
            return "java.io";
        }

        @Override
        public Map<String, String> notes() {
            return Map.of(
                    "field added, with a default, old bytes, new schema", "zero: the field's initial value is not used",
                    "field added, without a default, old bytes, new schema", "reads as zero",
                    "field removed, new bytes, old schema", "reads as zero",
                    "field renamed", "unless the class reads the fields itself",
                    "i32 widened to i64", "incompatible types, even to a wider one",
                    "i64 changed to f64", "incompatible types",
                    "optional made required, old bytes, new schema", "null is read, unchecked",
                    "fields reordered", "by name");
        }

        @Override
        public byte[] write(Change change, boolean byNew, Map<String, Object> message) throws Exception {
            ClassLoader loader = loader(change, byNew);
            Object object = loader.loadClass("Message").getConstructor().newInstance();
            for (Map.Entry<String, Object> field : message.entrySet()) {
                Field into = object.getClass().getField(field.getKey());
                into.set(object,
                        into.getType().isEnum() ? Enum.valueOf((Class) into.getType(), (String) field.getValue())
                        : field.getValue());
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(object);
            }
            return bytes.toByteArray();
        }

        @Override
        public Map<String, Object> read(Change change, boolean byNew, byte[] bytes) throws Exception {
            Object object;
            try (ObjectInputStream in = new Reader(new ByteArrayInputStream(bytes), loader(change, byNew))) {
                object = in.readObject();
            }
            Map<String, Object> fields = new LinkedHashMap<>();
            for (Field field : object.getClass().getFields()) {
                Object value = field.get(object);
                fields.put(field.getName(), value instanceof Enum<?> symbol ? symbol.name() : value);
            }
            return fields;
        }

        private ClassLoader loader(Change change, boolean byNew) throws IOException {
            String key = change.name() + byNew;
            if (!loaders.containsKey(key)) {
                Path sources = Files.createDirectories(folder.resolve("jdk" + loaders.size() + version.length()));
                String fields = SCHEMAS.get(change.name()).get(byNew ? 1 : 0);
                Files.writeString(sources.resolve("Kind.java"),
                        "public enum Kind { LAMP, DESK" + (byNew ? ", CHAIR }" : " }"));
                Files.writeString(
                        sources.resolve("Message.java"),
                        "public class Message implements java.io.Serializable { " + version + " public long id; "
                                + fields + " public String name; }");
                loaders.put(key, Compiled.load(sources));
            }
            return loaders.get(key);
        }
    }

    /** Finds the classes in the reader's version. */
    private static final class Reader extends ObjectInputStream {
        private final ClassLoader loader;

        Reader(InputStream in, ClassLoader loader) throws IOException {
            super(in);
            this.loader = loader;
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass description) throws IOException, ClassNotFoundException {
            return Class.forName(description.getName(), false, loader);
        }
    }

    @Test
    void everyChange() throws Exception {
        Outcomes.run(new Jdk("private static final long serialVersionUID = 1L;"));
    }

    @Test
    void withoutAVersionNumberEveryChangeIsAnError() throws Exception {
        Jdk jdk = new Jdk("");
        Change change = Change.ALL.get(0);
        byte[] bytes = jdk.write(change, true, change.newMessage());
        assertThrows(InvalidClassException.class, () -> jdk.read(change, false, bytes));
    }
}
