package io.rawline.value;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.rawline.value.Connection.Answer;
import io.rawline.value.Connection.Closed;
import io.rawline.value.Connection.Failed;
import io.rawline.value.Connection.State;
import io.rawline.value.Connection.Unknown;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Generated codecs write the bytes that Rust's derived code and Python's classes write, and read them. */
class CodecVectorsTest {
    private static final Map<String, Connection> RECORDS = Map.of(
            "full",
            new Connection(
                    "CHhAvVGS1DHFjwGM9",
                    Address.parse("10.0.0.1"),
                    Port.parse("53/udp"),
                    Optional.of(Subnet.parse("10.0.0.0/8")),
                    Instant.parse("2022-04-10T07:00:00.123456789Z"),
                    Optional.of(Duration.ofMillis(1500)),
                    true,
                    -1,
                    -7,
                    0.25,
                    State.HALF_OPEN,
                    new Closed(80),
                    new byte[] {(byte) 0xff, 0},
                    new TreeMap<>(Map.of("b", -2L, "a", 1L)),
                    new TreeSet<>(Set.of("dns", "ä")),
                    List.of(
                            new Answer(Address.parse("2001:db8::1"), Duration.ofSeconds(60)),
                            new Answer(Address.parse("192.0.2.1"), Duration.ZERO)),
                    Value.Vector.of(new Value.Int(-1), new Value.None()),
                    "Conn::LOG"),
            "sparse",
            new Connection(
                    "",
                    Address.parse("::"),
                    Port.parse("0/?"),
                    Optional.empty(),
                    Instant.parse("1969-12-31T23:59:59.999999999Z"),
                    Optional.empty(),
                    false,
                    0,
                    Integer.MIN_VALUE,
                    Double.NEGATIVE_INFINITY,
                    State.OPEN,
                    new Unknown(),
                    new byte[0],
                    Map.of(),
                    Set.of(),
                    List.of(),
                    new Value.None(),
                    ""),
            "failed",
            new Connection(
                    "x".repeat(200),
                    Address.parse("255.255.255.255"),
                    Port.parse("65535/tcp"),
                    Optional.of(Subnet.parse("2001:db8::/32")),
                    Instant.EPOCH,
                    Optional.of(Duration.ofNanos(-1)),
                    true,
                    1L << 40,
                    Integer.MAX_VALUE,
                    -0.0,
                    State.OPEN,
                    new Failed("ü", Optional.of(5L)),
                    new byte[] {1},
                    Map.of("only", Long.MAX_VALUE),
                    Set.of("one"),
                    List.of(),
                    new Value.Bool(true),
                    "L"));

    @Test
    void bytesAreThoseOfTheOtherLanguages() {
        List<String> names = new ArrayList<>();
        for (JsonNode vector : Vectors.read("records")) {
            String name = vector.get("name").asText();
            Connection record = RECORDS.get(name);
            byte[] table = Vectors.hex(vector, "table");
            byte[] plain = Vectors.hex(vector, "vector");
            assertEquals(Vectors.hex(table), Vectors.hex(ConnectionCodec.TABLE.encode(record)), name);
            assertEquals(Vectors.hex(plain), Vectors.hex(ConnectionCodec.VECTOR.encode(record)), name);
            for (byte[] bytes : new byte[][] {table, plain}) {
                Connection read = ConnectionCodec.TABLE.decode(bytes);
                assertArrayEquals(record.payload(), read.payload());
                assertEquals(withoutPayload(record), withoutPayload(read));
                new ValueDecoder().decode(bytes);
            }
            names.add(name);
        }
        assertEquals(List.of("full", "sparse", "failed"), names);
    }

    /** An array isn't equal to another one with the same content. */
    private static String withoutPayload(Connection record) {
        return record.toString().replaceAll("payload=[^,]*", "");
    }
}
