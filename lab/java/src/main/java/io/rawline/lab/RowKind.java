/* A row's name in results, and how to open it for a case. */
package io.rawline.lab;

import java.util.List;
import java.util.function.Function;

/**
 * @param format the wire format
 * @param library the library, under its usual name
 * @param version exact
 * @param variant "" as documented; otherwise the change, without spaces
 * @param operations the measured ones: a variant may differ in some only
 */
public record RowKind(
        String format, String library, String version, String variant, List<String> operations, Function<Case, Row<?,
                ?>> opener) {
    public static final List<String> OPERATIONS = List.of("encode", "decode", "field", "fields");

    /** A row that measures every operation. */
    public RowKind(String format, String library, String version, String variant, Function<Case, Row<?, ?>> opener) {
        this(format, library, version, variant, OPERATIONS, opener);
    }

    /** The library, and the variant if there is one: the row's folder under lab/out/wire/java. */
    public String folder() {
        return variant.isEmpty() ? library : library + "+" + variant;
    }

    /** The row's name for filters and on the command line. */
    public String id() {
        return format + "/" + folder();
    }

    @SuppressWarnings("unchecked")
    public Row<Object, Object> open(Case kase) {
        return (Row<Object, Object>) opener.apply(kase);
    }
}
