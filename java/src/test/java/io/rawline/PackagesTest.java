package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which package may use which: arrows go one way. */
class PackagesTest {
    private static final Path SOURCES = Path.of("src/main/java/io/rawline");
    private static final Pattern USE = Pattern.compile("\\bio\\.rawline\\.((?:[a-z]+\\.)*)[A-Z]");
    private static final Map<String, Set<String>> ALLOWED = Map.of(
            "error", Set.of(),
            "batch", Set.of("error"),
            "internal.http", Set.of("error"),
            "processor", Set.of(),
            "value", Set.of("error"),
            "measurement", Set.of("batch", "error", "value"),
            "", Set.of("batch", "error", "internal.http"));

    private static String packageOf(Path source) {
        Path folder = SOURCES.relativize(source).getParent();
        return folder == null ? "" : folder.toString().replace('/', '.');
    }

    @Test
    void packagesUseOnlyThoseBelowThem() throws IOException {
        List<String> wrong = new ArrayList<>();
        Set<String> packages = new TreeSet<>();
        try (Stream<Path> sources = Files.walk(SOURCES)) {
            for (Path source :
                    sources.filter(file -> file.toString().endsWith(".java")).toList()) {
                String user = packageOf(source);
                packages.add(user);
                Matcher use = USE.matcher(Files.readString(source));
                while (use.find()) {
                    String used = use.group(1).replaceFirst("\\.$", "");
                    if (!used.equals(user)
                            && !ALLOWED.getOrDefault(user, Set.of()).contains(used)) {
                        wrong.add(source + " uses " + use.group());
                    }
                }
            }
        }
        assertEquals(List.of(), wrong);
        assertEquals(new TreeSet<>(ALLOWED.keySet()), packages);
    }

    @Test
    void eachPackageHasItsSentence() throws IOException {
        for (String name : ALLOWED.keySet()) {
            String info =
                    Files.readString(SOURCES.resolve(name.replace('.', '/')).resolve("package-info.java"));
            assertTrue(info.startsWith("/**"), name);
        }
    }

    /** With {@code import io.rawline.*} such a name would be ambiguous. */
    @Test
    void noClassHasTheNameOfOneOfTheLanguages() throws IOException {
        List<String> ambiguous = new ArrayList<>();
        try (Stream<Path> sources = Files.walk(SOURCES)) {
            for (Path source :
                    sources.filter(file -> file.toString().endsWith(".java")).toList()) {
                String name = source.getFileName().toString().replace(".java", "");
                try {
                    Class.forName("java.lang." + name);
                    ambiguous.add(name);
                } catch (ClassNotFoundException expected) {
                    // The name is free.
                }
            }
        }
        assertEquals(List.of(), ambiguous);
    }
}
