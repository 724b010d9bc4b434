package io.rawline.value;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The processor's errors for types that it can't generate a codec for; all others compile without warnings. */
class CodecProcessorTest {
    @TempDir
    Path folder;

    /** The compiler's errors and warnings about a file with these types. */
    private List<String> compile(String types) {
        return compileFile("T", "package example;\nimport io.rawline.value.*;\nimport java.util.*;\n" + types);
    }

    private List<String> compileFile(String name, String source) {
        JavaFileObject file =
                new SimpleJavaFileObject(
                        URI.create("string:///example/" + name + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options = List.of(
                "-d", folder.toString(), "-cp", System.getProperty("java.class.path"), "-Xlint:all,-processing");
        compiler.getTask(null, null, found, options, null, List.of(file)).call();
        return found.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() != Diagnostic.Kind.NOTE)
                .map(diagnostic -> diagnostic.getMessage(Locale.ROOT))
                .toList();
    }

    private void assertError(String types, String message) {
        List<String> found = compile(types);
        assertTrue(found.contains(message), () -> message + "\n" + found);
    }

    @Test
    void typesWithoutAValueAreErrors() {
        String type = "the type %s can't be converted to a value; %s";
        assertError(
                "@GenerateCodec record T(Thread thread) {}",
                String.format(
                        type,
                        "java.lang.Thread",
                        "annotate it with @GenerateCodec, or name a codec: @ValueField(with = ...)"));
        assertError(
                "@GenerateCodec record T(java.time.LocalDate day) {}",
                String.format(
                        type,
                        "java.time.LocalDate",
                        "use an Instant or a Duration, or name a codec: @ValueField(with = ...)"));
        assertError(
                "@GenerateCodec record T(Object any) {}",
                String.format(type, "java.lang.Object", "use io.rawline.value.Value for values of any type"));
        assertError(
                "@GenerateCodec record T(Set<byte[]> keys) {}",
                String.format(
                        type,
                        "byte[]",
                        "elements of a set need equality, which arrays don't have; use a list or a string"));
        assertError(
                "@GenerateCodec record T(@ValueField(as = Kind.COUNT) String text) {}",
                String.format(type, "java.lang.String", "it can't be written as Kind.COUNT; remove it"));
        assertError(
                "@GenerateCodec record T(@ValueField(as = Kind.SET) String text) {}",
                String.format(type, "java.lang.String", "it can't be written as Kind.SET; remove it"));
    }

    @Test
    void typesWithoutACodecAreErrors() {
        assertError(
                "@GenerateCodec record T<A>(int a) {}",
                "a codec is for one type; annotate a type without type parameters, which has fields of this one");
        assertError(
                "@GenerateCodec interface T {}",
                "an interface needs to be sealed, so that its alternatives are known; add sealed");
        assertError(
                "@GenerateCodec sealed interface T { record A(int x) implements T {} }",
                "the alternative example.T.A has no codec; annotate it with @GenerateCodec");
        assertError(
                "class T { @GenerateCodec private record A(int x) {} }",
                "generated code can't use a private type; remove private");
        assertError(
                "@GenerateCodec class T { final int x = 1; }",
                "a field that is private or final can't be read or set; make it neither, make it transient to leave it"
                        + " out, or use a record");
        assertError(
                "@GenerateCodec class T { T(int x) {} }",
                "a class needs a constructor without parameters that isn't private; add one or use a record");
        assertError(
                "@GenerateCodec record T(int a, @ValueField(name = \"a\") int b) {}",
                "two fields have the name \"a\" in a value; rename one");
        assertError(
                "@GenerateCodec(transparent = true) record T(int a, int b) {}",
                "only a record or a class of one field can be transparent");
    }

    /** More fields than a word has bits. */
    @Test
    @SuppressWarnings("unchecked")
    void wideRecordsComeBack() throws Exception {
        int count = 130;
        String components =
                IntStream.range(0, count).mapToObj(number -> "int f" + number).collect(Collectors.joining(", "));
        assertEquals(List.of(), compile("@GenerateCodec public record T(" + components + ") {}"));
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            Class<?> codecs = loader.loadClass("example.TCodec");
            Object wide = loader.loadClass("example.T")
                    .getConstructors()[0]
                    .newInstance(IntStream.range(0, count).boxed().toArray());
            for (String form : List.of("TABLE", "VECTOR")) {
                ValueCodec<Object> codec =
                        (ValueCodec<Object>) codecs.getField(form).get(null);
                byte[] bytes = codec.encode(wide);
                assertEquals(wide, codec.decode(bytes));
                new ValueDecoder().decode(bytes);
                ValueWriter fewer = new ValueWriter().beginTable();
                for (int number = count - 1; number > 100; number--) {
                    fewer.add("f" + number).addInteger(number);
                }
                byte[] few = fewer.end().toByteArray();
                ValueException missing = assertThrows(ValueException.class, () -> codec.decode(few));
                assertEquals("f0", missing.path());
                ValueWriter longer = new ValueWriter().beginList();
                IntStream.range(0, count + 1).forEach(longer::addInteger);
                assertEquals(wide, codec.decode(longer.end().toByteArray()));
            }
        }
    }

    @Test
    void theExampleOfTheDocumentCompiles() throws Exception {
        String page = Files.readString(Path.of("../docs/values.md"));
        int begin = page.indexOf("```java\n") + "```java\n".length();
        assertEquals(List.of(), compileFile("Dns", page.substring(begin, page.indexOf("```", begin))));
    }

    /** Names of all lengths, keys too long for words, names of variables, and more fields than a word has bits. */
    @Test
    void otherTypesCompileWithoutWarnings() {
        String many = IntStream.range(0, 200)
                .mapToObj(number -> "int " + "f".repeat(number % 40 + 1) + number)
                .collect(Collectors.joining(", "));
        assertEquals(
                List.of(),
                compile("@GenerateCodec public record T(" + many + ") {\n@GenerateCodec record Empty() {}\n"
                        + "@GenerateCodec record Names(int reader, int writer, int value, int table, int left,"
                        + " int start, @ValueField(orElse = \"java.util.List.of\") List<Map<String, int[]>> seen0) {}\n"
                        + "@Deprecated @GenerateCodec record Old(ArrayList<String> a, Optional<Old> b) {}\n}"));
    }
}
