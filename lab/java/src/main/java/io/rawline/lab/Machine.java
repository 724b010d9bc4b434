/* What the figures were measured on. */
package io.rawline.lab;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

final class Machine {
    private static final double KIB_A_GIB = 1024.0 * 1024.0;

    private Machine() {}

    /** As in results; unknown fields are empty. */
    static ObjectNode described() {
        ObjectNode machine = JsonNodeFactory.instance.objectNode();
        machine.put("cpu", value("/proc/cpuinfo", "model name", ":")).put("cores",
                Runtime.getRuntime().availableProcessors());
        machine.put("os", value("/etc/os-release", "PRETTY_NAME", "="));
        String kib = value("/proc/meminfo", "MemTotal", ":").replaceAll("[^0-9]", "");
        return machine.put("memory_gb", kib.isEmpty() ? 0 : Math.round(Long.parseLong(kib) / KIB_A_GIB));
    }

    /** The value of a key in one of the system's line-oriented files. */
    private static String value(String file, String key, String separator) {
        try {
            for (String line : Files.readAllLines(Path.of(file))) {
                String[] parts = line.split(separator, 2);
                if (parts.length == 2 && parts[0].trim().equals(key)) {
                    return parts[1].trim().replace("\"", "");
                }
            }
        } catch (IOException e) {
            // Other systems don't have this file.
        }
        return "";
    }
}
