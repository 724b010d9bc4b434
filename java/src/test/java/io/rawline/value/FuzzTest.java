package io.rawline.value;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Random and changed bytes: all readers agree and throw only the documented exception. */
class FuzzTest {
    @Test
    void randomBytesAreReadOrRefused() {
        Random random = new Random(1);
        for (int round = 0; round < 6_000; round++) {
            byte[] bytes = new byte[random.nextInt(60)];
            random.nextBytes(bytes);
            if (random.nextInt(4) > 0) {
                for (int index = 0; index < bytes.length; index++) {
                    bytes[index] &= 15;
                }
            }
            check(bytes);
        }
    }

    @Test
    void changedValuesAreReadOrRefused() {
        Random random = new Random(2);
        List<byte[]> samples = new ArrayList<>();
        for (JsonNode vector : Vectors.read("values")) {
            samples.add(Vectors.hex(vector, "hex"));
        }
        samples.removeIf(sample -> sample.length > 2_000);
        for (int round = 0; round < 5_000; round++) {
            byte[] bytes = round % 2 == 0
                    ? RandomValues.next(random, 3).encode()
                    : samples.get(random.nextInt(samples.size())).clone();
            for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
                bytes = change(bytes, random);
            }
            check(bytes);
        }
    }

    private static byte[] change(byte[] bytes, Random random) {
        int place = random.nextInt(bytes.length);
        switch (random.nextInt(4)) {
            case 0 -> {
                byte[] shorter = Arrays.copyOf(bytes, bytes.length - 1);
                System.arraycopy(bytes, place + 1, shorter, place, shorter.length - place);
                return shorter;
            }
            case 1 -> {
                byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
                System.arraycopy(bytes, place, longer, place + 1, bytes.length - place);
                longer[place] = (byte) random.nextInt();
                return longer;
            }
            case 2 -> bytes[place] = (byte) random.nextInt(16);
            default -> bytes[place] ^= (byte) (1 << random.nextInt(8));
        }
        return bytes;
    }

    private static void check(byte[] bytes) {
        Bodies.agree(bytes);
        ValueDecoder decoder = new ValueDecoder();
        Field field = Field.of("a");
        Bodies.errorOf(() -> decoder.pick(bytes, field));
        Bodies.errorOf(() -> decoder.pick(bytes, 0, bytes.length, Step.at(1), field));
        Bodies.errorOf(() -> Frame.parse(bytes).toEnvelope());
        Bodies.errorOf(() -> TypedJson.toString(bytes));
        Bodies.errorOf(() -> PlainJson.toString(bytes));
        Bodies.errorOf(() -> Zeek.read(ValueView.of(bytes)));
    }
}
