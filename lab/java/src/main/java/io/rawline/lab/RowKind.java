/* What a row is called in results, and how it is opened for a case. */
package io.rawline.lab;

import java.util.List;
import java.util.function.Function;

/**
 * @param format the wire format
 * @param library the library, as its makers call it
 * @param version exact
 * @param variant "" as documented; otherwise what was changed, in a word or two without spaces
 * @param operations those that are measured: where a variant differs in one only, the others would be measured twice
 */
public record RowKind(
        String format, String library, String version, String variant, List<String> operations, Function<Case, Row<?, ?>> opener) {
    public static final List<String> OPERATIONS = List.of("encode", "decode", "field", "fields");

    /** A row that differs in all it does. */
    public RowKind(String format, String library, String version, String variant, Function<Case, Row<?, ?>> opener) {
        this(format, library, version, variant, OPERATIONS, opener);
    }

    /** The library, and the variant if there is one: the row's folder under lab/out/wire/java. */
    public String folder() {
        return variant.isEmpty() ? library : library + "+" + variant;
    }

    /** What filters are matched against, and what names the row on a command line. */
    public String id() {
        return format + "/" + folder();
    }

    @SuppressWarnings("unchecked")
    public Row<Object, Object> open(Case kase) {
        return (Row<Object, Object>) opener.apply(kase);
    }
}
