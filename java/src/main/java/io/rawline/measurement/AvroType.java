package io.rawline.measurement;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** A type of an Avro schema; a record may contain itself. */
final class AvroType {
    /** The kinds of types, with the specification's names. */
    enum Kind {
        NULL,
        BOOLEAN,
        INT,
        LONG,
        FLOAT,
        DOUBLE,
        BYTES,
        STRING,
        RECORD,
        ENUM,
        ARRAY,
        MAP,
        UNION,
        FIXED;

        String avroName() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A field of a record.
     *
     * @param name its name
     * @param aliases its earlier names
     * @param type its type
     */
    record Field(String name, List<String> aliases, AvroType type) {}

    final Kind kind;
    /** The name with its namespace; null for kinds without a name. */
    final String name;
    /** The logical type, or empty. */
    final String logical;
    /** The fields of a record. */
    List<Field> fields = List.of();
    /** The items of an array or a map. */
    AvroType items;
    /** The branches of a union. */
    List<AvroType> branches = List.of();
    /** The symbols of an enum. */
    List<String> symbols = List.of();
    /** The size of a fixed, in bytes. */
    int fixedBytes;

    AvroType(Kind kind, String name, String logical) {
        this.kind = kind;
        this.name = name;
        this.logical = logical;
    }

    /** The Parsing Canonical Form, from which fingerprints are computed. */
    String canonical() {
        StringBuilder out = new StringBuilder();
        write(out, new HashSet<>());
        return out.toString();
    }

    private void write(StringBuilder out, Set<String> written) {
        if (name != null && !written.add(name)) {
            out.append('"').append(name).append('"');
            return;
        }
        switch (kind) {
            case RECORD -> {
                writeName(out).append("\"fields\":[");
                for (int index = 0; index < fields.size(); index++) {
                    out.append(index > 0 ? "," : "")
                            .append("{\"name\":\"")
                            .append(fields.get(index).name())
                            .append("\",\"type\":");
                    fields.get(index).type().write(out, written);
                    out.append('}');
                }
                out.append("]}");
            }
            case ENUM -> {
                writeName(out).append("\"symbols\":[");
                out.append(symbols.isEmpty() ? "" : "\"" + String.join("\",\"", symbols) + "\"")
                        .append("]}");
            }
            case FIXED -> writeName(out).append("\"size\":").append(fixedBytes).append('}');
            case ARRAY, MAP -> {
                out.append("{\"type\":\"")
                        .append(kind.avroName())
                        .append("\",\"")
                        .append(kind == Kind.ARRAY ? "items" : "values")
                        .append("\":");
                items.write(out, written);
                out.append('}');
            }
            case UNION -> {
                out.append('[');
                for (int index = 0; index < branches.size(); index++) {
                    out.append(index > 0 ? "," : "");
                    branches.get(index).write(out, written);
                }
                out.append(']');
            }
            default -> out.append('"').append(kind.avroName()).append('"');
        }
    }

    private StringBuilder writeName(StringBuilder out) {
        return out.append("{\"name\":\"")
                .append(name)
                .append("\",\"type\":\"")
                .append(kind.avroName())
                .append("\",");
    }
}
