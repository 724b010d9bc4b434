package io.rawline.value;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * An owned tree of values of any type, immutable.
 *
 * <p>Order, equality and hash agree with each other and with the format: by type, then within the type. Reals compare
 * as numbers, so {@code 0.0} equals {@code -0.0}; a NaN equals every NaN and sorts last. Comparing, writing and hashing
 * recurse as deep as the tree, which is limited to {@link Limits#depthMax} if it was decoded from bytes.
 */
public sealed interface Value extends Comparable<Value>
        permits Address,
                Port,
                Subnet,
                Text,
                Value.Bool,
                Value.Count,
                Value.EnumName,
                Value.Int,
                Value.None,
                Value.Real,
                Value.Set,
                Value.Table,
                Value.Timespan,
                Value.Timestamp,
                Value.Vector {
    /**
     * The value's type.
     *
     * @return its type
     */
    Kind kind();

    /**
     * Decodes a value; the bytes must be exactly one.
     *
     * @param bytes the bytes
     * @return a tree
     * @throws ValueException they are not exactly one value within the default limits
     */
    static Value decode(byte[] bytes) {
        return decode(bytes, Limits.DEFAULT);
    }

    /**
     * Decodes a value; the bytes must be exactly one.
     *
     * @param bytes the bytes
     * @param limits maximum sizes
     * @return a tree
     * @throws ValueException they are not exactly one value within the limits
     */
    static Value decode(byte[] bytes, Limits limits) {
        return new ValueDecoder(limits).decode(bytes).toValue();
    }

    /**
     * The value's bytes. Sets and tables are ascending, so equal values have equal bytes, except {@code 0.0} and {@code
     * -0.0}.
     *
     * @return the bytes
     */
    default byte[] encode() {
        return new ValueWriter().add(this).toByteArray();
    }

    @Override
    default int compareTo(Value other) {
        return Trees.compare(this, other, false);
    }

    /** No value. */
    record None() implements Value {
        @Override
        public Kind kind() {
            return Kind.NONE;
        }
    }

    /**
     * True or false.
     *
     * @param value the boolean
     */
    record Bool(boolean value) implements Value {
        @Override
        public Kind kind() {
            return Kind.BOOLEAN;
        }
    }

    /**
     * An unsigned number.
     *
     * @param value its 64 bits
     */
    record Count(long value) implements Value {
        @Override
        public Kind kind() {
            return Kind.COUNT;
        }
    }

    /**
     * A signed number.
     *
     * @param value the number
     */
    record Int(long value) implements Value {
        @Override
        public Kind kind() {
            return Kind.INTEGER;
        }
    }

    /**
     * A floating-point number.
     *
     * @param value the number
     */
    record Real(double value) implements Value {
        @Override
        public Kind kind() {
            return Kind.REAL;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Real real && Order.reals(value, real.value, false) == 0;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(Order.realKey(value));
        }
    }

    /**
     * A point in time.
     *
     * @param nanoseconds since 1970-01-01T00:00:00Z
     */
    record Timestamp(long nanoseconds) implements Value {
        @Override
        public Kind kind() {
            return Kind.TIMESTAMP;
        }
    }

    /**
     * A duration.
     *
     * @param nanoseconds its length
     */
    record Timespan(long nanoseconds) implements Value {
        @Override
        public Kind kind() {
            return Kind.TIMESPAN;
        }
    }

    /**
     * An enumerator's name.
     *
     * @param name such as {@code Conn::LOG}
     */
    record EnumName(Text name) implements Value {
        /**
         * A name.
         *
         * @param name the name, which is written in UTF-8
         */
        public EnumName(String name) {
            this(Text.of(name));
        }

        @Override
        public Kind kind() {
            return Kind.ENUM;
        }
    }

    /**
     * Values in any order.
     *
     * @param values the values
     */
    record Vector(List<Value> values) implements Value {
        /**
         * A vector of values.
         *
         * @param values the values, which are copied
         */
        public Vector {
            values = List.copyOf(values);
        }

        /**
         * A vector of values.
         *
         * @param values the values
         * @return the vector
         */
        public static Vector of(Value... values) {
            return new Vector(List.of(values));
        }

        @Override
        public Kind kind() {
            return Kind.VECTOR;
        }
    }

    /**
     * Values in ascending order, without duplicates. By the format's rule, a NaN is a duplicate of any other real, and
     * {@code 0.0} of {@code -0.0}.
     *
     * @param values the values, ascending
     */
    record Set(List<Value> values) implements Value {
        /**
         * A set of values, given in any order.
         *
         * @param values the values
         * @throws ValueException there is a duplicate
         */
        public Set {
            List<Value> sorted = new ArrayList<>(values);
            sorted.sort(null);
            for (int index = 1; index < sorted.size(); index++) {
                if (Trees.compare(sorted.get(index - 1), sorted.get(index), true) == 0) {
                    throw ValueException.notUnique(0);
                }
            }
            values = List.copyOf(sorted);
        }

        /**
         * A set of values, given in any order.
         *
         * @param values the values
         * @return the set
         * @throws ValueException there is a duplicate
         */
        public static Set of(Value... values) {
            return new Set(List.of(values));
        }

        @Override
        public Kind kind() {
            return Kind.SET;
        }
    }

    /**
     * Pairs of key and value, ascending by key, without duplicate keys as defined for {@link Set}.
     *
     * @param pairs the pairs, ascending
     */
    record Table(List<Map.Entry<Value, Value>> pairs) implements Value {
        /**
         * A table of pairs, given in any order.
         *
         * @param pairs the pairs
         * @throws ValueException there is a duplicate key
         */
        public Table {
            List<Map.Entry<Value, Value>> sorted = new ArrayList<>(pairs.size());
            pairs.forEach(pair -> sorted.add(Map.entry(pair.getKey(), pair.getValue())));
            sorted.sort(Map.Entry.comparingByKey());
            for (int index = 1; index < sorted.size(); index++) {
                if (Trees.compare(
                                sorted.get(index - 1).getKey(),
                                sorted.get(index).getKey(),
                                true)
                        == 0) {
                    throw ValueException.notUnique(0);
                }
            }
            pairs = List.copyOf(sorted);
        }

        /**
         * A table of a map's entries.
         *
         * @param map keys and values
         * @return the table
         * @throws ValueException two keys are duplicates by the format's rule
         */
        public static Table of(Map<? extends Value, ? extends Value> map) {
            List<Map.Entry<Value, Value>> pairs = new ArrayList<>(map.size());
            map.forEach((key, value) -> pairs.add(Map.entry(key, value)));
            return new Table(pairs);
        }

        /**
         * The value of a key, in O(log n).
         *
         * @param key the key
         * @return the value, or null if not found
         */
        public Value get(Value key) {
            int low = 0;
            int high = pairs.size() - 1;
            while (low <= high) {
                int middle = low + high >>> 1;
                int order = pairs.get(middle).getKey().compareTo(key);
                if (order == 0) {
                    return pairs.get(middle).getValue();
                }
                low = order < 0 ? middle + 1 : low;
                high = order < 0 ? high : middle - 1;
            }
            return null;
        }

        @Override
        public Kind kind() {
            return Kind.TABLE;
        }
    }
}
