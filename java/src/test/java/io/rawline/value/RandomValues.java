package io.rawline.value;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Random values of every type. */
final class RandomValues {
    private RandomValues() {}

    static Value next(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 12 : 15)) {
            case 0 -> new Value.None();
            case 1 -> new Value.Bool(random.nextBoolean());
            case 2 -> new Value.Count(random.nextLong());
            case 3 -> new Value.Int(random.nextLong());
            case 4 -> {
                double real = Double.longBitsToDouble(random.nextLong());
                yield new Value.Real(Math.abs(real) < Double.MIN_NORMAL ? 0 : real);
            }
            case 5 -> text(random);
            case 6 -> Address.of(random.nextLong(), random.nextLong());
            case 7 ->
                new Subnet(
                        random.nextBoolean()
                                ? Address.of(random.nextLong(), random.nextLong())
                                : Address.ofIpv4(random.nextInt()),
                        random.nextInt(256));
            case 8 -> new Port(random.nextInt(1 << 16), Protocol.of(random.nextInt(4)));
            case 9 -> new Value.Timestamp(random.nextLong());
            case 10 -> new Value.Timespan(random.nextLong());
            case 11 -> new Value.EnumName(text(random));
            case 12 -> set(random, depth);
            case 13 -> table(random, depth);
            default -> {
                List<Value> values = new ArrayList<>();
                for (int left = random.nextInt(6); left > 0; left--) {
                    values.add(next(random, depth - 1));
                }
                yield new Value.Vector(values);
            }
        };
    }

    private static Text text(Random random) {
        byte[] bytes = new byte[random.nextInt(40)];
        random.nextBytes(bytes);
        if (random.nextBoolean()) {
            for (int index = 0; index < bytes.length; index++) {
                bytes[index] = (byte) (' ' + (bytes[index] & 0x3f));
            }
        }
        return Text.of(bytes);
    }

    private static Value.Set set(Random random, int depth) {
        List<Value> values = new ArrayList<>();
        for (int left = random.nextInt(6); left > 0; left--) {
            values.add(next(random, depth - 1));
            if (Bodies.errorOf(() -> new Value.Set(values)) != null) {
                values.remove(values.size() - 1);
            }
        }
        return new Value.Set(values);
    }

    private static Value.Table table(Random random, int depth) {
        Map<Value, Value> map = new HashMap<>();
        for (Value key : set(random, depth).values()) {
            map.put(key, next(random, depth - 1));
        }
        return Value.Table.of(map);
    }
}
