package io.rawline.measurement;

import io.rawline.measurement.AvroType.Field;
import io.rawline.measurement.AvroType.Kind;

/**
 * Reads messages by their writer's schema, field by field and with all checks, and keeps a measurement's fields.
 */
final class SchemaReader {
    /**
     * The same limits as in {@code crates/avro}: deeper messages, or those with more parts, are refused, whatever the
     * schema.
     */
    private static final int DEPTH_MAX = 64;

    private static final int PARTS_MAX = 1 << 20;

    private final WriterSchema schema;
    private final Cursor cursor = new Cursor();
    private final int[] tags = new int[4 * SeriesTable.TAGS_MAX];
    private int tagCount;
    private int metricAt;
    private int metricLength;
    private int parts;

    /** The field that is being read. */
    String field = "";

    long timeMs;
    double value;
    /** Metric and tags, encoded by the measurement's default schema, from 0 to {@link #identityLength}. */
    byte[] identity = new byte[256];

    int identityLength;

    SchemaReader(WriterSchema schema) {
        this.schema = schema;
    }

    /** Reads the message whose body lies between two positions. */
    void read(byte[] bytes, int begin, int end) {
        cursor.reset(bytes, begin, end);
        tagCount = 0;
        parts = 0;
        int at = 0;
        for (Field next : schema.root().fields) {
            int role = schema.role(at++);
            field = role < 0 ? next.name() : role == WriterSchema.TIME ? "time" : WriterSchema.ROLES.get(role);
            if (role < 0) {
                skip(next.type(), 1);
            } else {
                take(role, next.type());
            }
        }
        field = "end";
        cursor.finish();
        field = "tags";
        writeIdentity();
    }

    private void take(int role, AvroType type) {
        AvroType held = held(role, type);
        switch (role) {
            case WriterSchema.METRIC -> {
                metricLength = cursor.readString();
                metricAt = cursor.at - metricLength;
            }
            case WriterSchema.TAGS -> takeTags(held);
            case WriterSchema.TIME ->
                timeMs = schema.toMs(held.kind == Kind.INT ? cursor.readInt() : cursor.readLong());
            default ->
                value = switch (held.kind) {
                    case INT -> cursor.readInt();
                    case LONG -> cursor.readLong();
                    case FLOAT -> cursor.readFloat();
                    default -> cursor.readDouble();
                };
        }
    }

    /** The type of the value: a union's branch, which must be readable. */
    private AvroType held(int role, AvroType type) {
        if (type.kind != Kind.UNION) {
            return type;
        }
        int begin = cursor.at;
        AvroType branch = branch(type);
        if (!WriterSchema.fits(role, branch)) {
            throw new FaultException(Fault.BRANCH_UNFIT, begin);
        }
        return branch;
    }

    private AvroType branch(AvroType union) {
        int begin = cursor.at;
        long index = cursor.readLong();
        if (index < 0 || index >= union.branches.size()) {
            throw new FaultException(Fault.BRANCH, begin);
        }
        return union.branches.get((int) index);
    }

    private void takeTags(AvroType map) {
        eachItem(() -> {
            if (tagCount == SeriesTable.TAGS_MAX) {
                throw new FaultException(Fault.ELEMENTS, cursor.at);
            }
            int to = 4 * tagCount++;
            tags[to + 1] = cursor.readString();
            tags[to] = cursor.at - tags[to + 1];
            held(WriterSchema.METRIC, map.items);
            tags[to + 3] = cursor.readString();
            tags[to + 2] = cursor.at - tags[to + 3];
        });
    }

    private void eachItem(Runnable item) {
        while (true) {
            int begin = cursor.at;
            long count = cursor.readBlock();
            int blockEnd = cursor.blockEnd;
            if (count == 0) {
                return;
            }
            for (; count > 0; count--) {
                countPart();
                item.run();
            }
            if (blockEnd >= 0 && blockEnd != cursor.at) {
                throw new FaultException(Fault.LENGTH, begin);
            }
        }
    }

    private void countPart() {
        if (++parts > PARTS_MAX) {
            throw new FaultException(Fault.PARTS, cursor.at);
        }
    }

    /** Skips a value of another field. */
    private void skip(AvroType type, int depth) {
        if (depth > DEPTH_MAX) {
            throw new FaultException(Fault.PARTS, cursor.at);
        }
        int begin = cursor.at;
        switch (type.kind) {
            case NULL -> {}
            case BOOLEAN -> cursor.skipBoolean();
            case INT -> cursor.readInt();
            case LONG -> cursor.readLong();
            case FLOAT -> cursor.fixed(4);
            case DOUBLE -> cursor.fixed(8);
            case FIXED -> cursor.fixed(type.fixedBytes);
            case BYTES -> cursor.skipBytes(false);
            case STRING -> cursor.skipBytes(true);
            case ENUM -> {
                int symbol = cursor.readInt();
                if (symbol < 0 || symbol >= type.symbols.size()) {
                    throw new FaultException(Fault.SYMBOL, begin);
                }
            }
            case UNION -> skip(branch(type), depth + 1);
            case RECORD -> {
                countPart();
                for (Field inner : type.fields) {
                    skip(inner.type(), depth + 1);
                }
            }
            case ARRAY -> eachItem(() -> skip(type.items, depth + 1));
            case MAP ->
                eachItem(() -> {
                    cursor.skipBytes(true);
                    skip(type.items, depth + 1);
                });
            default -> throw new IllegalStateException("a schema with a type " + type.kind);
        }
    }

    private void writeIdentity() {
        identityLength = 0;
        putString(metricAt, metricLength);
        if (tagCount > 0) {
            putLong(tagCount);
            for (int at = 0; at < 4 * tagCount; at += 2) {
                putString(tags[at], tags[at + 1]);
            }
        }
        putLong(0);
    }

    private void putString(int at, int length) {
        putLong(length);
        reserve(length);
        System.arraycopy(cursor.bytes, at, identity, identityLength, length);
        identityLength += length;
    }

    private void putLong(long number) {
        reserve(Varint.BYTES_MAX);
        identityLength = Varint.put(number, identity, identityLength);
    }

    private void reserve(int more) {
        // Up to about 32 MiB: the maximum number of tags times the maximum length of a string.
        if (identityLength + more > identity.length) {
            identity = java.util.Arrays.copyOf(identity, Math.max(2 * identity.length, identityLength + more));
        }
    }
}
