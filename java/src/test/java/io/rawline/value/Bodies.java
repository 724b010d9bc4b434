package io.rawline.value;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Map;

/** Properties of any bytes: the readers agree, and values that are read round-trip. */
final class Bodies {
    private Bodies() {}

    static void agree(byte[] bytes) {
        agree(bytes, Limits.DEFAULT);
        agree(bytes, new Limits(2, 5, 200));
    }

    private static void agree(byte[] bytes, Limits limits) {
        // Surrounding bytes must not matter.
        byte[] wide = new byte[bytes.length + 5];
        java.util.Arrays.fill(wide, (byte) 2);
        System.arraycopy(bytes, 0, wide, 2, bytes.length);
        ValueDecoder decoder = new ValueDecoder(limits);
        ValueException error = errorOf(() -> decoder.decode(bytes));
        ValueException again = errorOf(() -> decoder.decode(wide, 2, bytes.length));
        assertEquals(error == null ? "" : error.getMessage(), again == null ? "" : again.getMessage());
        ValueException skipped = errorOf(() -> skip(bytes, limits));
        if (error != null) {
            // The skipping reader checks neither depth nor duplicates.
            if (skipped == null) {
                assertTrue(
                        error.reason() == ValueException.Reason.NOT_UNIQUE
                                || error.reason() == ValueException.Reason.TOO_DEEP,
                        error.getMessage());
            }
            return;
        }
        assertEquals(null, skipped);
        ValueView view = decoder.decode(wide, 2, bytes.length);
        Value tree = view.toValue();
        assertArrayEquals(bytes, view.toByteArray());
        same(tree, view, new ValueDecoder(limits));
        byte[] encoded = tree.encode();
        Value other = Value.decode(encoded, limits);
        assertArrayEquals(encoded, other.encode());
        // The smallest numbers of the format become zero when they are written.
        if (!hasSubnormal(tree)) {
            assertEquals(tree, other);
            assertEquals(tree.hashCode(), other.hashCode());
            assertEquals(view, ValueView.of(encoded));
            assertEquals(view.hashCode(), ValueView.of(encoded).hashCode());
        }
        ValueWriter writer = new ValueWriter(0).beginList().add(view).add(tree).end();
        ValueView both = new ValueDecoder(new Limits(256, 1 << 20, 16 << 20)).decode(writer.toByteBuffer());
        assertEquals(tree, both.get(0).toValue());
        assertEquals(other, both.get(1).toValue());
        assertEquals(
                tree,
                new ValueDecoder(limits)
                        .decode(ByteBuffer.wrap(bytes).asReadOnlyBuffer())
                        .toValue());
    }

    static ValueException errorOf(Runnable run) {
        try {
            run.run();
            return null;
        } catch (ValueException error) {
            return error;
        }
    }

    private static void skip(byte[] bytes, Limits limits) {
        ValueReader reader = new ValueReader(limits).reset(bytes);
        reader.skip();
        reader.finish();
    }

    /** Compares a view and a tree of the same value recursively. */
    private static void same(Value tree, ValueView view, ValueDecoder picker) {
        assertEquals(tree.kind(), view.kind());
        assertEquals(tree, Value.decode(view.toByteArray()));
        int size = 0;
        if (tree instanceof Value.Vector vector) {
            size = vector.values().size();
            for (int index = 0; index < size; index++) {
                same(vector.values().get(index), view.get(index), picker);
                assertEquals(
                        view.get(index),
                        picker.pick(
                                view.bytes,
                                Nodes.position(view.node),
                                view.end() - Nodes.position(view.node),
                                Step.at(index)));
            }
        } else if (tree instanceof Value.Set set) {
            size = set.values().size();
            for (int index = 0; index < size; index++) {
                same(set.values().get(index), view.get(index), picker);
                assertTrue(view.contains(view.get(index)));
            }
        } else if (tree instanceof Value.Table table) {
            size = table.pairs().size();
            sameTable(table, view, picker);
        }
        assertEquals(size, view.size());
        assertSame(ValueView.NONE, view.get(size));
        assertSame(ValueView.NONE, view.get(-1));
        assertSame(ValueView.NONE, view.keyAt(size));
        assertSame(ValueView.NONE, view.valueAt(-1));
        assertEquals(
                view.kind() == Kind.VECTOR || view.kind() == Kind.SET ? size : 0,
                view.elements().size());
        assertFalse(view.toString().isEmpty());
    }

    private static void sameTable(Value.Table table, ValueView view, ValueDecoder picker) {
        for (int index = 0; index < table.pairs().size(); index++) {
            Map.Entry<Value, Value> pair = table.pairs().get(index);
            ValueView key = view.keyAt(index);
            same(pair.getKey(), key, picker);
            same(pair.getValue(), view.valueAt(index), picker);
            assertEquals(view.valueAt(index), view.get(key));
            assertEquals(pair.getValue(), table.get(pair.getKey()));
            assertTrue(view.contains(key));
            if (key.kind() == Kind.STRING && Utf8.isValid(key.asBytes(), 0, key.asBytes().length)) {
                Field field = Field.of(key.asString());
                assertEquals(view.valueAt(index), view.get(key.asString()));
                assertEquals(view.valueAt(index), view.get(field));
                assertEquals(view.valueAt(index), view.get(field));
                assertEquals(
                        view.valueAt(index),
                        picker.pick(
                                view.bytes, Nodes.position(view.node), view.end() - Nodes.position(view.node), field));
            }
        }
    }

    private static boolean hasSubnormal(Value value) {
        if (value instanceof Value.Real real) {
            return real.value() != 0 && Math.abs(real.value()) < Double.MIN_NORMAL;
        }
        if (value instanceof Value.Vector vector) {
            return vector.values().stream().anyMatch(Bodies::hasSubnormal);
        }
        if (value instanceof Value.Set set) {
            return set.values().stream().anyMatch(Bodies::hasSubnormal);
        }
        return value instanceof Value.Table table
                && table.pairs().stream()
                        .anyMatch(pair -> hasSubnormal(pair.getKey()) || hasSubnormal(pair.getValue()));
    }
}
