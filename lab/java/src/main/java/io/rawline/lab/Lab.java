/* The laboratory's folder. */
package io.rawline.lab;

import java.nio.file.Files;
import java.nio.file.Path;

final class Lab {
    private Lab() {}

    /**
     * The folder lab of the repository: named by -Dlab, or the first above the working directory that has lab/cases.
     */
    static Path folder() {
        String named = System.getProperty("lab");
        if (named != null) {
            return Path.of(named).toAbsolutePath();
        }
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.isDirectory(at.resolve("lab/cases"))) {
                return at.resolve("lab");
            }
        }
        throw new IllegalStateException("no folder lab/cases here or above; run in the repository, or set -Dlab=DIR");
    }
}
