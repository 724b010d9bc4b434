package io.rawline.measurement;

import io.rawline.measurement.AvroType.Field;
import io.rawline.measurement.AvroType.Kind;
import java.util.List;

/**
 * The schema that wrote measurements, if it isn't {@link MeasurementShape#MEASUREMENT_SCHEMA}, and the prefix of its
 * messages. Its fields are read as a measurement's by Avro's schema resolution: in any order, with other fields, {@code
 * int}, {@code long} or {@code float} for a {@code double}, {@code bytes} for a string, and unions with such a value.
 *
 * <p>Three rules go further: the record may have any name; a field with the alias {@code metric}, {@code tags}, {@code
 * logtime} or {@code value} is read as that one; with a schema without tags, series have no tags. Times in micro- or
 * nanoseconds become milliseconds, rounded down.
 */
public final class WriterSchema {
    /** The measurement's fields, in its order. */
    static final List<String> ROLES = List.of("metric", "tags", "logtime", "value");

    static final int METRIC = 0;
    static final int TAGS = 1;
    static final int TIME = 2;
    static final int VALUE = 3;

    private final AvroType root;
    private final byte[] head;
    /** For each of the record's fields, its role as an index of {@link #ROLES}, or -1. */
    private final int[] roles;
    /** Number of the time's units per millisecond. */
    private final long unitsInMs;

    private WriterSchema(AvroType root, byte[] head) {
        if (root.kind != Kind.RECORD) {
            throw unfit("it is of the type " + root.kind.avroName() + ", not a record");
        }
        this.root = root;
        this.head = head;
        roles = new int[root.fields.size()];
        java.util.Arrays.fill(roles, -1);
        long units = 1;
        for (int role = 0; role < ROLES.size(); role++) {
            int at = fieldOf(role);
            if (at >= 0) {
                roles[at] = role;
                checkFits(role, root.fields.get(at));
                units = role == TIME ? unitsInMs(root.fields.get(at).type()) : units;
            } else if (role != TAGS) {
                throw unfit("it has no field \"" + ROLES.get(role) + "\", nor one that has this name as an alias");
            }
        }
        unitsInMs = units;
    }

    /**
     * A schema of messages without a prefix.
     *
     * @param json the schema as JSON
     * @return the schema
     * @throws MeasurementException it isn't a valid schema, or can't be read as a measurement's
     */
    public static WriterSchema bare(String json) {
        return new WriterSchema(
                AvroParser.parse(json), MeasurementShape.bare(ValueType.DOUBLE).head());
    }

    /**
     * A schema of messages with its fingerprint: {@code C3 01} and 8 bytes, little-endian.
     *
     * @param json the schema as JSON
     * @return the schema
     * @throws MeasurementException it isn't a valid schema, or can't be read as a measurement's
     */
    public static WriterSchema singleObject(String json) {
        AvroType root = AvroParser.parse(json);
        long fingerprint = MeasurementShape.fingerprint(root.canonical());
        return new WriterSchema(
                root,
                MeasurementShape.singleObject(fingerprint, ValueType.DOUBLE).head());
    }

    /**
     * A schema of messages with its id in a registry: {@code 00} and 4 bytes, big-endian.
     *
     * @param number the schema's id
     * @param json the schema as JSON
     * @return the schema
     * @throws MeasurementException it isn't a valid schema, or can't be read as a measurement's
     */
    public static WriterSchema registry(int number, String json) {
        return new WriterSchema(
                AvroParser.parse(json),
                MeasurementShape.registry(number, ValueType.DOUBLE).head());
    }

    /**
     * The schema's fingerprint.
     *
     * @return the CRC-64-AVRO of its canonical form
     */
    public long fingerprint() {
        return MeasurementShape.fingerprint(root.canonical());
    }

    AvroType root() {
        return root;
    }

    byte[] head() {
        return head;
    }

    int role(int field) {
        return roles[field];
    }

    /** The value's type if the messages have a {@link MeasurementShape}; else null. */
    ValueType shape() {
        boolean inOrder = roles.length == ROLES.size() && unitsInMs == 1;
        for (int at = 0; inOrder && at < roles.length; at++) {
            inOrder = roles[at] == at;
        }
        if (!inOrder
                || type(METRIC).kind != Kind.STRING
                || type(TAGS).kind != Kind.MAP
                || type(TAGS).items.kind != Kind.STRING
                || type(TIME).kind != Kind.LONG) {
            return null;
        }
        return switch (type(VALUE).kind) {
            case INT -> ValueType.INT;
            case LONG -> ValueType.LONG;
            case FLOAT -> ValueType.FLOAT;
            case DOUBLE -> ValueType.DOUBLE;
            default -> null;
        };
    }

    private AvroType type(int field) {
        return root.fields.get(field).type();
    }

    /** Rounds down to the millisecond, before 1970 too. */
    long toMs(long time) {
        return Math.floorDiv(time, unitsInMs);
    }

    /** Whether a value of this type, which isn't a union, can be read as that field. */
    static boolean fits(int role, AvroType type) {
        return switch (role) {
            case METRIC -> type.kind == Kind.STRING || type.kind == Kind.BYTES;
            case TAGS -> type.kind == Kind.MAP && anyFits(METRIC, type.items);
            case TIME -> type.kind == Kind.INT || type.kind == Kind.LONG;
            default -> type.kind.ordinal() >= Kind.INT.ordinal() && type.kind.ordinal() <= Kind.DOUBLE.ordinal();
        };
    }

    private static boolean anyFits(int role, AvroType type) {
        return type.kind == Kind.UNION
                ? type.branches.stream().anyMatch(branch -> fits(role, branch))
                : fits(role, type);
    }

    /** The index of the field with this name, or else of the first with this alias; -1 if not found. */
    private int fieldOf(int role) {
        String name = ROLES.get(role);
        int aliased = -1;
        for (int at = 0; at < root.fields.size(); at++) {
            Field field = root.fields.get(at);
            if (field.name().equals(name)) {
                return at;
            }
            if (aliased < 0 && field.aliases().contains(name) && !ROLES.contains(field.name())) {
                aliased = at;
            }
        }
        return aliased;
    }

    private static void checkFits(int role, Field field) {
        if (!anyFits(role, field.type())) {
            String wanted = List.of("a string", "a map of strings", "a long", "a number")
                    .get(role);
            throw unfit("its field \"" + field.name() + "\" is of the type "
                    + field.type().kind.avroName() + ", which can't be read as " + wanted);
        }
    }

    private static long unitsInMs(AvroType type) {
        if (type.kind != Kind.UNION) {
            return switch (type.logical) {
                case "timestamp-micros", "local-timestamp-micros" -> 1_000;
                case "timestamp-nanos", "local-timestamp-nanos" -> 1_000_000;
                case "date", "time-millis", "time-micros" ->
                    throw unfit("its time is a " + type.logical
                            + ", not a time since 1970 in milli-, micro- or nanoseconds");
                default -> 1;
            };
        }
        long units = 0;
        for (AvroType branch : type.branches) {
            if (fits(TIME, branch)) {
                long found = unitsInMs(branch);
                if (units != 0 && units != found) {
                    throw unfit("its time has several units; use one type");
                }
                units = found;
            }
        }
        return units;
    }

    private static MeasurementException unfit(String reason) {
        return new MeasurementException("the schema doesn't fit a measurement: " + reason);
    }
}
