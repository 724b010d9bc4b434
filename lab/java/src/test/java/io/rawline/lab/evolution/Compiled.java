// Java source compiled and loaded while a test runs, so that two versions of one class exist side by side.
package io.rawline.lab.evolution;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

final class Compiled {
    private Compiled() {
    }

    /** Compiles every source file below the folder, and returns a class loader for the classes. */
    static ClassLoader load(Path sources) throws IOException {
        Path classes = Files.createDirectories(sources.resolve("classes"));
        List<String> arguments =
                new ArrayList<>(List.of("-nowarn", "-d", classes.toString(), "-cp",
                System.getProperty("java.class.path")));
        try (Stream<Path> files = Files.walk(sources)) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(file -> arguments.add(file.toString()));
        }
        int failed = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(new String[0]));
        if (failed != 0) {
            throw new IllegalStateException("the sources in " + sources + " don't compile");
        }
        return new URLClassLoader(new URL[] {classes.toUri().toURL()}, Compiled.class.getClassLoader());
    }
}
