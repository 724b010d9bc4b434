package io.rawline.measurement;

import io.rawline.measurement.AvroType.Field;
import io.rawline.measurement.AvroType.Kind;
import io.rawline.value.PlainJson;
import io.rawline.value.ValueException;
import io.rawline.value.ValueView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Parses a schema's JSON, as defined by the Avro specification (1.12). */
final class AvroParser {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern FULL_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*");

    private final Map<String, AvroType> named = new HashMap<>();

    private AvroParser() {}

    static AvroType parse(String json) {
        ValueView read;
        try {
            read = ValueView.of(PlainJson.read(json));
        } catch (ValueException error) {
            throw wrong("it isn't JSON (" + error.getMessage() + ")");
        }
        return new AvroParser().type(read, "");
    }

    private AvroType type(ValueView json, String namespace) {
        return switch (json.kind()) {
            case STRING -> named(json.asString(), "", namespace);
            case VECTOR -> union(json, namespace);
            case TABLE ->
                json.get("type").kind() == io.rawline.value.Kind.STRING
                        ? defined(json, namespace)
                        : type(json.get("type"), namespace);
            default -> throw wrong("a type is neither a name nor an object nor an array");
        };
    }

    /** A primitive type, or one that is already defined. */
    private AvroType named(String name, String logical, String namespace) {
        Kind kind = kind(name);
        if (kind != null && kind.ordinal() <= Kind.STRING.ordinal()) {
            return new AvroType(kind, null, logical);
        }
        AvroType known = named.get(full(name, namespace));
        if (known == null) {
            throw wrong("the type \"" + name + "\" is not defined before its use");
        }
        return known;
    }

    private AvroType defined(ValueView json, String namespace) {
        String name = json.get("type").asString();
        Kind kind = kind(name);
        String logical = text(json, "logicalType");
        if (kind == null || kind.ordinal() <= Kind.STRING.ordinal()) {
            return named(name, logical, namespace);
        }
        if (kind == Kind.ARRAY || kind == Kind.MAP) {
            AvroType type = new AvroType(kind, null, logical);
            type.items = type(json.get(kind == Kind.ARRAY ? "items" : "values"), namespace);
            return type;
        }
        if (kind == Kind.UNION) {
            throw wrong("a union must be an array");
        }
        String within = text(json, "namespace");
        String full = full(text(json, "name"), within.isEmpty() ? namespace : within);
        if (!FULL_NAME.matcher(full).matches()) {
            throw wrong("\"" + full + "\" is not a valid name of a type");
        }
        AvroType type = new AvroType(kind, full, logical);
        if (named.put(full, type) != null) {
            throw wrong("\"" + full + "\" is defined more than once");
        }
        switch (kind) {
            case RECORD ->
                type.fields = fields(json, full.contains(".") ? full.substring(0, full.lastIndexOf('.')) : "");
            case ENUM -> type.symbols = names(json.get("symbols"));
            default -> {
                ValueView size = json.get("size");
                if (size.kind() != io.rawline.value.Kind.COUNT
                        || size.asCount() < 0
                        || size.asCount() > Integer.MAX_VALUE) {
                    throw wrong("\"" + full + "\" has no size");
                }
                type.fixedBytes = (int) size.asCount();
            }
        }
        return type;
    }

    private List<Field> fields(ValueView json, String namespace) {
        if (json.get("fields").kind() != io.rawline.value.Kind.VECTOR) {
            throw wrong("a record has no fields");
        }
        List<Field> fields = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (ValueView field : json.get("fields").elements()) {
            String name = text(field, "name");
            if (!NAME.matcher(name).matches() || !seen.add(name)) {
                throw wrong("\"" + name + "\" is not a valid name of a field, or a duplicate");
            }
            fields.add(new Field(name, names(field.get("aliases")), type(field.get("type"), namespace)));
        }
        return List.copyOf(fields);
    }

    private AvroType union(ValueView json, String namespace) {
        AvroType union = new AvroType(Kind.UNION, null, "");
        List<AvroType> branches = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (ValueView element : json.elements()) {
            AvroType branch = type(element, namespace);
            if (branch.kind == Kind.UNION || !seen.add(branch.name == null ? branch.kind.avroName() : branch.name)) {
                throw wrong("a union contains a union, or a duplicate type");
            }
            branches.add(branch);
        }
        union.branches = List.copyOf(branches);
        return union;
    }

    private static List<String> names(ValueView json) {
        List<String> names = new ArrayList<>();
        for (ValueView name : json.elements()) {
            if (name.kind() != io.rawline.value.Kind.STRING
                    || !FULL_NAME.matcher(name.asString()).matches()) {
                throw wrong("a symbol or an alias is not a valid name");
            }
            names.add(name.asString());
        }
        return List.copyOf(names);
    }

    private static Kind kind(String name) {
        if (name.equals("error")) {
            return Kind.RECORD;
        }
        for (Kind kind : Kind.values()) {
            if (kind.avroName().equals(name)) {
                return kind;
            }
        }
        return null;
    }

    private static String full(String name, String namespace) {
        return name.contains(".") || namespace.isEmpty() ? name : namespace + "." + name;
    }

    private static String text(ValueView json, String name) {
        ValueView text = json.kind() == io.rawline.value.Kind.TABLE ? json.get(name) : ValueView.NONE;
        return text.kind() == io.rawline.value.Kind.STRING ? text.asString() : "";
    }

    static MeasurementException wrong(String reason) {
        return new MeasurementException("invalid schema: " + reason + "; pass the schema that wrote the"
                + " messages, as defined by the Avro specification");
    }
}
