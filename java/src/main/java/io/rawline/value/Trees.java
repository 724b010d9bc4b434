package io.rawline.value;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Converts trees from views and to bytes, and compares them. */
final class Trees {
    private Trees() {}

    static Value of(ValueView view) {
        return switch (view.kind()) {
            case NONE -> new Value.None();
            case BOOLEAN -> new Value.Bool(view.asBoolean());
            case COUNT -> new Value.Count(view.asCount());
            case INTEGER -> new Value.Int(view.asInteger());
            case REAL -> new Value.Real(view.asReal());
            case STRING -> Text.owning(view.asBytes());
            case ADDRESS -> view.asAddress();
            case SUBNET -> view.asSubnet();
            case PORT -> view.asPort();
            case TIMESTAMP -> new Value.Timestamp(view.asTimestamp());
            case TIMESPAN -> new Value.Timespan(view.asTimespan());
            case ENUM -> new Value.EnumName(Text.owning(view.asBytes()));
            case SET -> new Value.Set(elements(view));
            case TABLE -> table(view);
            case VECTOR -> new Value.Vector(elements(view));
        };
    }

    private static List<Value> elements(ValueView view) {
        Value[] values = new Value[view.children()];
        for (int index = 0; index < values.length; index++) {
            values[index] = of(view.child(index));
        }
        return Arrays.asList(values);
    }

    private static Value.Table table(ValueView view) {
        List<Map.Entry<Value, Value>> pairs = new ArrayList<>(view.size());
        for (int index = 0; index < view.size(); index++) {
            pairs.add(Map.entry(of(view.keyAt(index)), of(view.valueAt(index))));
        }
        return new Value.Table(pairs);
    }

    static void write(Value value, ValueWriter out) {
        switch (value.kind()) {
            case NONE -> out.addNone();
            case BOOLEAN -> out.add(((Value.Bool) value).value());
            case COUNT -> out.addCount(((Value.Count) value).value());
            case INTEGER -> out.addInteger(((Value.Int) value).value());
            case REAL -> out.add(((Value.Real) value).value());
            case STRING -> out.addBytes(((Text) value).bytes());
            case ADDRESS -> out.add((Address) value);
            case SUBNET -> out.add((Subnet) value);
            case PORT -> out.add((Port) value);
            case TIMESTAMP -> out.addTimestamp(((Value.Timestamp) value).nanoseconds());
            case TIMESPAN -> out.addTimespan(((Value.Timespan) value).nanoseconds());
            case ENUM -> {
                byte[] name = ((Value.EnumName) value).name().bytes();
                out.addText(Wire.ENUM, name, 0, name.length);
            }
            case SET -> {
                out.beginSet();
                ((Value.Set) value).values().forEach(element -> write(element, out));
                out.end();
            }
            case TABLE -> {
                out.beginTable();
                for (Map.Entry<Value, Value> pair : ((Value.Table) value).pairs()) {
                    write(pair.getKey(), out);
                    write(pair.getValue(), out);
                }
                out.end();
            }
            case VECTOR -> {
                out.beginList();
                ((Value.Vector) value).values().forEach(element -> write(element, out));
                out.end();
            }
            default -> throw new IllegalStateException("a value of kind " + value.kind());
        }
    }

    /** Compares two trees in the format's order; if {@code loosely}, a NaN equals every real. */
    static int compare(Value left, Value right, boolean loosely) {
        if (left.kind() != right.kind()) {
            return left.kind().compareTo(right.kind());
        }
        return switch (left.kind()) {
            case NONE -> 0;
            case BOOLEAN -> Boolean.compare(((Value.Bool) left).value(), ((Value.Bool) right).value());
            case COUNT -> Long.compareUnsigned(((Value.Count) left).value(), ((Value.Count) right).value());
            case INTEGER -> Long.compare(((Value.Int) left).value(), ((Value.Int) right).value());
            case REAL -> Order.reals(((Value.Real) left).value(), ((Value.Real) right).value(), loosely);
            case STRING -> Arrays.compareUnsigned(((Text) left).bytes(), ((Text) right).bytes());
            case ADDRESS -> addresses((Address) left, (Address) right);
            case SUBNET -> subnets((Subnet) left, (Subnet) right);
            case PORT -> ports((Port) left, (Port) right);
            case TIMESTAMP ->
                Long.compare(((Value.Timestamp) left).nanoseconds(), ((Value.Timestamp) right).nanoseconds());
            case TIMESPAN ->
                Long.compare(((Value.Timespan) left).nanoseconds(), ((Value.Timespan) right).nanoseconds());
            case ENUM -> compare(((Value.EnumName) left).name(), ((Value.EnumName) right).name(), loosely);
            case SET -> lists(((Value.Set) left).values(), ((Value.Set) right).values(), loosely);
            case TABLE -> tables(((Value.Table) left).pairs(), ((Value.Table) right).pairs(), loosely);
            case VECTOR -> lists(((Value.Vector) left).values(), ((Value.Vector) right).values(), loosely);
        };
    }

    private static int addresses(Address left, Address right) {
        int order = Long.compareUnsigned(left.high(), right.high());
        return order != 0 ? order : Long.compareUnsigned(left.low(), right.low());
    }

    private static int subnets(Subnet left, Subnet right) {
        int order = addresses(left.network(), right.network());
        return order != 0 ? order : Integer.compare(left.prefixBits(), right.prefixBits());
    }

    private static int ports(Port left, Port right) {
        int order = Integer.compare(left.number(), right.number());
        return order != 0 ? order : left.protocol().compareTo(right.protocol());
    }

    private static int lists(List<Value> left, List<Value> right, boolean loosely) {
        for (int index = 0; index < Math.min(left.size(), right.size()); index++) {
            int order = compare(left.get(index), right.get(index), loosely);
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(left.size(), right.size());
    }

    private static int tables(
            List<Map.Entry<Value, Value>> left, List<Map.Entry<Value, Value>> right, boolean loosely) {
        for (int index = 0; index < Math.min(left.size(), right.size()); index++) {
            int order = compare(left.get(index).getKey(), right.get(index).getKey(), loosely);
            if (order == 0) {
                order = compare(left.get(index).getValue(), right.get(index).getValue(), loosely);
            }
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(left.size(), right.size());
    }
}
