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
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which package uses which, and how large it is: arrows go one way. */
class PackagesTest {
    private static final Path SOURCES = Path.of("src/main/java/io/rawline");
    private static final Pattern USE = Pattern.compile("\\bio\\.rawline\\.((?:[a-z]+\\.)*)[A-Z]");
    /** Maximum number of files in a package: their list fits on a screen. */
    private static final int FILES_MAX = 24;
    /** Each is one format: its readers and writers share code that no other package may use. */
    private static final Map<String, Integer> LONGER = Map.of("batch", 30, "value", 44);

    /** A package, and all that it uses. */
    private record Room(String name, Set<String> uses) {}

    /** Each uses only rooms before it, so there is no circle. */
    private static final List<Room> ROOMS = List.of(
            room("processor"),
            room("error"),
            room("batch", "error"),
            room("value", "error"),
            room("measurement", "batch", "error", "value"),
            room("internal.setting", "error"),
            room("internal.http", "error", "internal.setting"),
            room("topic", "error", "internal.setting"),
            room("record", "batch", "error", "internal.setting"),
            room("group", "topic"),
            room("internal.request", "batch", "error", "internal.http", "internal.setting", "record", "topic"),
            room("internal.group", "error", "group", "internal.http", "internal.request", "internal.setting", "topic"),
            room("producer", "batch", "error", "internal.http", "internal.request", "internal.setting", "topic"),
            room(
                    "consumer",
                    "error",
                    "internal.group",
                    "internal.http",
                    "internal.request",
                    "internal.setting",
                    "record",
                    "topic"),
            room("subscription", "batch", "error", "internal.http", "internal.request", "internal.setting", "record"),
            room(
                    "",
                    "batch",
                    "consumer",
                    "error",
                    "group",
                    "internal.group",
                    "internal.http",
                    "internal.request",
                    "internal.setting",
                    "producer",
                    "record",
                    "subscription",
                    "topic"));

    private static Room room(String name, String... uses) {
        return new Room(name, new TreeSet<>(Set.of(uses)));
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(SOURCES)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }

    private static String packageOf(Path source) {
        Path folder = SOURCES.relativize(source).getParent();
        return folder == null ? "" : folder.toString().replace('/', '.');
    }

    @Test
    void packagesUseOnlyThoseBelowThem() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        for (Path source : sources()) {
            String user = packageOf(source);
            Set<String> uses = found.computeIfAbsent(user, name -> new TreeSet<>());
            Matcher use = USE.matcher(Files.readString(source));
            while (use.find()) {
                uses.add(use.group(1).replaceFirst("\\.$", ""));
            }
            uses.remove(user);
        }
        Map<String, Set<String>> listed = new TreeMap<>();
        for (Room room : ROOMS) {
            assertTrue(listed.keySet().containsAll(room.uses), room + " uses one that isn't before it");
            listed.put(room.name, room.uses);
        }
        assertEquals(listed, found);
    }

    @Test
    void noPackageIsTooLarge() throws IOException {
        Map<String, Integer> files = new TreeMap<>();
        for (Path source : sources()) {
            files.merge(packageOf(source), source.endsWith("package-info.java") ? 0 : 1, Integer::sum);
        }
        files.forEach((name, count) ->
                assertTrue(count <= LONGER.getOrDefault(name, FILES_MAX), count + " files in io.rawline." + name));
    }

    @Test
    void onlyInternalPackagesAreNotExported() throws IOException {
        Set<String> exported = new TreeSet<>();
        Matcher exports = Pattern.compile("exports io\\.rawline\\.?([a-z.]*);")
                .matcher(Files.readString(SOURCES.resolve("../../module-info.java")));
        while (exports.find()) {
            exported.add(exports.group(1));
        }
        Set<String> expected = new TreeSet<>();
        ROOMS.forEach(room -> expected.add(room.name));
        expected.removeIf(name -> name.startsWith("internal.") || name.equals("processor"));
        assertEquals(expected, exported);
    }

    @Test
    void eachPackageHasItsSentence() throws IOException {
        for (Room room : ROOMS) {
            Path folder = SOURCES.resolve(room.name.replace('.', '/'));
            assertTrue(Files.readString(folder.resolve("package-info.java")).startsWith("/**"), room.name);
        }
    }

    /** With {@code import io.rawline.*} such a name would be ambiguous. */
    @Test
    void noClassHasTheNameOfOneOfTheLanguages() throws IOException {
        List<String> ambiguous = new ArrayList<>();
        for (Path source : sources()) {
            String name = source.getFileName().toString().replace(".java", "");
            try {
                Class.forName("java.lang." + name);
                ambiguous.add(name);
            } catch (ClassNotFoundException expected) {
                // The name is free.
            }
        }
        assertEquals(List.of(), ambiguous);
    }
}
