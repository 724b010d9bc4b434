/* The libraries' exact versions, filled in from the pom when this was built. */
package io.rawline.lab;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

public final class Versions {
    private static final Properties VERSIONS = load();

    private Versions() {}

    public static String of(String library) {
        String version = VERSIONS.getProperty(library);
        if (version == null) {
            throw new IllegalArgumentException("no version of " + library + " in versions.properties");
        }
        return version;
    }

    private static Properties load() {
        Properties versions = new Properties();
        try (InputStream in = Versions.class.getResourceAsStream("/versions.properties")) {
            versions.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return versions;
    }
}
