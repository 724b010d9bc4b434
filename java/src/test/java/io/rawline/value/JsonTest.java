package io.rawline.value;

import static io.rawline.value.Vectors.hex;
import static io.rawline.value.Vectors.unhex;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rawline.value.ValueException.Reason;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Both JSON mappings, compared with the reference implementation. */
class JsonTest {
    private static final ObjectMapper JACKSON = new ObjectMapper();

    /** Intended differences from the reference implementation; docs/values.md has the reasons. */
    private static final Set<String> STRICTER = Set.of(
            "json_real_nan_literal",
            "json_subnet_bad_len",
            "json_port_unknown_proto",
            "json_port_overflow",
            "json_port_text",
            "json_string_vertical_tab_escape");

    /** Exact here; the reference implementation rounds or misreads them. */
    private static final Map<String, String> EXACT = Map.of(
            "json_timespan_2^53+1_ns", "0a0020000000000001",
            "json_timespan_int64_max_ns", "0a7fffffffffffffff",
            "json_string_escapes", "050b6122625c630a090d080c2f");

    private static String readHex(String json) {
        return hex(TypedJson.read(json));
    }

    private static String typedHex(String kind, String data) {
        return readHex("{\"@data-type\":\"" + kind + "\",\"data\":" + data + "}");
    }

    private static String written(String hex) {
        return TypedJson.toString(unhex(hex));
    }

    private static ValueException refused(String json) {
        return assertThrows(ValueException.class, () -> TypedJson.read(json), json);
    }

    @Test
    void losslessReferenceJsonRoundTrips() throws JsonProcessingException {
        int read = 0;
        int same = 0;
        for (JsonNode vector : Vectors.read("values")) {
            if (!vector.get("json_roundtrip").asText().equals("exact")
                    || vector.path("json").isNull()) {
                continue;
            }
            String json = vector.get("json_text").asText();
            String name = vector.get("name").asText();
            assertEquals(vector.get("hex").asText(), readHex(json), name);
            read++;
            String written = written(vector.get("hex").asText());
            assertEquals(vector.get("json"), JACKSON.readTree(written), name);
            // Identical, except a real's digits.
            if (!json.contains("real")) {
                assertEquals(json, written, name);
                same++;
            }
        }
        assertEquals(98, read);
        assertEquals(91, same);
    }

    @Test
    void everyValueRoundTripsThroughJson() throws JsonProcessingException {
        for (JsonNode vector : Vectors.read("values")) {
            byte[] bytes = hex(vector, "hex");
            String written = TypedJson.toString(bytes);
            JACKSON.readTree(written);
            assertEquals(hex(bytes), readHex(written), written);
            String people = PlainJson.toString(bytes);
            JACKSON.readTree(people);
            assertEquals(people, PlainJson.toString(PlainJson.read(people)));
        }
    }

    @Test
    void valuesThatTheReferenceTruncatesAreWrittenInFull() {
        assertEquals("{\"@data-type\":\"real\",\"data\":\"inf\"}", written("04fff0000000000000"));
        assertEquals("{\"@data-type\":\"real\",\"data\":\"-inf\"}", written("047ff0000000000000"));
        assertEquals("{\"@data-type\":\"real\",\"data\":\"nan\"}", written("04ffffffffffffffff"));
        assertEquals("{\"@data-type\":\"real\",\"data\":3.141592653589793}", written("04400921fb54442d18"));
        assertEquals("{\"@data-type\":\"string\",\"data\":\"a\\u000b\\u0000\"}", written("0503610b00"));
        assertEquals(
                "{\"@data-type\":\"timestamp\",\"data\":\"2022-04-10T07:00:00.123456789\"}",
                written("0916e476d034142d15"));
        assertEquals(
                "{\"@data-type\":\"timestamp\",\"data\":\"1969-12-31T23:59:59.500\"}", written("09ffffffffe2329b00"));
        assertEquals(
                "{\"@data-type\":\"string\",\"@bytes\":\"fffe80\",\"data\":\"\ufffd\ufffd\ufffd\"}",
                written("0503fffe80"));
        // An impossible prefix, and one with bits after it.
        for (String subnet : new String[] {
            "0700000000000000000000ffff0a010203c8",
            "0700000000000000000000ffff0a01020368",
            "0720010db8000000000000000000000001c8"
        }) {
            assertTrue(written(subnet).contains("@bytes"));
            assertEquals(subnet, readHex(written(subnet)));
        }
    }

    @Test
    void realsAreWrittenAsTheShortestTextThatRoundTrips() {
        for (String real : new String[] {
            "0.0",
            "-0.0",
            "1.0",
            "0.1",
            "1e100",
            "1e-300",
            "1.5e-7",
            "0.00001",
            "1e-6",
            "1234567890123456.0",
            "1e16",
            "1.2e16",
            "123456789012345680.0",
            "2e-44",
            "9.5367431640625e-7",
            "2.2250738585072014e-308",
            "5.5e-310",
            "1.7976931348623157e308",
            "2.0e-3",
            "2.2e-322",
            "9007199254740993.0",
            "4.35",
            "100.0",
            "2.98023223876953125e-8"
        }) {
            StringBuilder out = new StringBuilder();
            Reals.write(Double.parseDouble(real), out);
            assertEquals(Double.parseDouble(real), Double.parseDouble(out.toString()), real);
            assertTrue(digits(out.toString()) <= digits(real), out + " for " + real);
        }
        StringBuilder out = new StringBuilder();
        for (double real : new double[] {1e16, 1e15, 1e-5, 1e-6, 123e-7, 2e-44, 1.25e21, -0.5}) {
            Reals.write(real, out);
            out.append(' ');
        }
        assertEquals("1e+16 1000000000000000.0 0.00001 1e-6 0.0000123 2e-44 1.25e+21 -0.5 ", out.toString());
    }

    private static int digits(String real) {
        return new BigDecimal(real).stripTrailingZeros().precision();
    }

    @Test
    void bytesAndTextOfAValueMustAgree() {
        String format = "{\"data\":\"%s\",\"@bytes\":\"%s\",\"@data-type\":\"string\"}";
        assertEquals("0501ff", readHex(format.formatted("\ufffd", "ff")));
        assertEquals("050161", readHex(format.formatted("a", "61")));
        refused(format.formatted("a", "ff"));
        refused(format.formatted("\ufffd", "f"));
        refused(format.formatted("\ufffd", "zz"));
        refused(format.formatted("a", "\u00e9"));
        refused("{\"@data-type\":\"count\",\"data\":1,\"@bytes\":\"01\"}");
        refused("{\"@data-type\":\"address\",\"data\":\"::1\",\"@bytes\":\"01\"}");
        refused("{\"@data-type\":\"subnet\",\"data\":\"10.0.0.0/8\",\"@bytes\":\"01\"}");
    }

    @Test
    void invalidUtf8IsReplacedAsInTheOtherLanguages() {
        for (String[] pair : new String[][] {
            {"e282", "1"},
            {"e28241", "1+"},
            {"eda080", "3"},
            {"f0908041", "1+"},
            {"f09f98", "1"},
            {"c0af", "2"},
            {"f4908080", "4"},
            {"e08080", "3"},
            {"80", "1"},
            {"f8888080", "4"}
        }) {
            byte[] bytes = unhex(pair[0]);
            String expected = "\ufffd".repeat(pair[1].charAt(0) - '0') + (pair[1].endsWith("+") ? "A" : "");
            assertEquals(expected, Utf8.lossy(bytes, 0, bytes.length), pair[0]);
        }
    }

    @Test
    void malformedJsonIsRefused() {
        int accepted = 0;
        int refused = 0;
        for (JsonNode vector : Vectors.read("malformed")) {
            String name = vector.get("name").asText();
            // The frame around the value belongs to another class.
            if (!vector.get("kind").asText().equals("json")
                    || !vector.path("json_text").isTextual()
                    || Set.of("json_missing_type", "json_missing_topic", "json_empty_topic")
                            .contains(name)) {
                continue;
            }
            String json = vector.get("json_text").asText();
            if (vector.get("verdict").asText().equals("accept") && !STRICTER.contains(name)) {
                String known = vector.get("envelope_deserialize_json").asText();
                String expected =
                        EXACT.containsKey(name) ? EXACT.get(name) : known.substring(known.indexOf("payload=") + 8);
                assertEquals(expected, readHex(json), name);
                accepted++;
            } else {
                refused(json);
                refused++;
            }
        }
        assertEquals("30 33", accepted + " " + refused);
    }

    @Test
    void textsAreParsedExactlyOrRefused() {
        for (String[] pair : new String[][] {
            {"0.000000001s", "1"}, {"-0.5h", "-1800000000000"},
            {"9223372036854775807ns", "9223372036854775807"}, {"-9223372036854775808ns", "-9223372036854775808"}
        }) {
            byte[] bytes = TypedJson.read("{\"@data-type\":\"timespan\",\"data\":\"" + pair[0] + "\"}");
            assertEquals(Long.parseLong(pair[1]), ValueView.of(bytes).asTimespan());
        }
        for (String text : new String[] {
            "9223372036854775808ns",
            "1.5ns",
            "1.s",
            ".5s",
            "--5s",
            "+5s",
            "s",
            "",
            "5",
            "1e3s",
            "99999999999999999999s",
            "7d",
            "1m"
        }) {
            refused("{\"@data-type\":\"timespan\",\"data\":\"" + text + "\"}");
        }
        assertEquals("097fffffffffffffff", typedHex("timestamp", "\"2262-04-11T23:47:16.854775807Z\""));
        assertEquals("098000000000000000", typedHex("timestamp", "\"1677-09-21T00:12:43.145224192\""));
        assertEquals(
                1_649_577_600_000_000_000L,
                ValueView.of(TypedJson.read("{\"@data-type\":\"timestamp\",\"data\":\"2022-04-10T07:00:00-01:00\"}"))
                        .asTimestamp());
        for (String text : new String[] {
            "2262-04-11T23:47:16.854775808Z",
            "2022-04-10T07:00:00.1234567891Z",
            "2022-04-10T07:00:00[Europe/Berlin]",
            "2022-02-30T07:00:00Z",
            "\u00e92022-04-10T07",
            "2022-04-10T24:00:00",
            "2022-04-10T07:00:00+",
            "2022-04-10T07:00:00.",
            "1677-09-21T00:12:43.145224191"
        }) {
            refused("{\"@data-type\":\"timestamp\",\"data\":\"" + text + "\"}");
        }
        // Needs correct rounding.
        assertEquals("044340000000000000", typedHex("real", "9007199254740993.0"));
        for (String data : new String[] {"\"1.5\"", "2", "1e999", "true", "null", "01.5", "1.", "-"}) {
            refused("{\"@data-type\":\"real\",\"data\":" + data + "}");
        }
        refused("{\"@data-type\":\"count\",\"data\":true}");
        refused("{\"@data-type\":\"integer\",\"data\":\"1\"}");
    }

    @Test
    void addressesRoundTripAsInRfc5952() {
        for (String text : new String[] {
            "0.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "1::",
            "2001:db8::1",
            "1:0:0:2::3",
            "1:2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7:0",
            "0:1:2:3:4:5:6:7",
            "::2:3:4:5:6:7:8",
            "1:0:2:3:4:5:6:7",
            "fe80::1:0:0:1"
        }) {
            assertEquals(
                    text.replace("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
                    Address.parse(text).toString());
        }
        assertEquals("1.2.3.4", Address.parse("::ffff:1.2.3.4").toString());
        assertEquals("::102:304", Address.parse("::1.2.3.4").toString());
        assertEquals("1:2:3:4:5:6:102:304", Address.parse("1:2:3:4:5:6:1.2.3.4").toString());
        for (String text : new String[] {
            "",
            ":",
            ":::",
            "1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "256.0.0.1",
            "1:2",
            "1::2::3",
            "12345::",
            "g::",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7::8",
            ":1::",
            "::1:",
            "1:2:3:4:5:6:7:1.2.3.4",
            "1.2.3.4::",
            "::1%eth0",
            " ::1",
            "1.2.3.+4",
            "::1.2.3"
        }) {
            assertThrows(ValueException.class, () -> Address.parse(text), text);
        }
        assertEquals("10.0.0.0/8", Subnet.parse("10.1.2.3/8").toString());
        assertEquals("2001:db8::/33", Subnet.parse("2001:db8:7fff::1/33").toString());
        assertEquals("::/0", Subnet.parse("ffff::/0").toString());
        assertEquals(24, Subnet.parse("192.0.2.0/24").length());
        for (String text : new String[] {"10.0.0.0/33", "::/129", "10.0.0.0", "10.0.0.0/", "/8", "10.0.0.0/-1"}) {
            assertThrows(ValueException.class, () -> Subnet.parse(text), text);
        }
        for (String text : new String[] {"53", "53/sctp", "65536/tcp", "/tcp", "-1/tcp", "http/tcp", "53/"}) {
            assertThrows(ValueException.class, () -> Port.parse(text), text);
        }
        assertEquals(
                Address.parse("192.0.2.1"),
                Address.of(Address.parse("192.0.2.1").toInetAddress()));
        assertEquals(
                Address.parse("2001:db8::1"),
                Address.of(Address.parse("2001:db8::1").toInetAddress()));
    }

    private static String repeated(int levels, String open, String middle, String close) {
        return open.repeat(levels) + middle + close.repeat(levels);
    }

    @Test
    void depthIsLimited() {
        String none = "{\"@data-type\":\"none\"}";
        for (int levels : new int[] {127, 128, 20_001}) {
            String[] texts = {
                repeated(levels, "{\"@data-type\":\"vector\",\"data\":[", none, "]}"),
                repeated(levels, "{\"data\":[", none, "],\"@data-type\":\"vector\"}"),
                repeated(
                        levels,
                        "{\"@data-type\":\"table\",\"data\":[{\"key\":{\"@data-type\":\"none\"},\"value\":",
                        none,
                        "}]}")
            };
            for (String json : texts) {
                if (levels == 127) {
                    byte[] bytes = TypedJson.read(json);
                    assertArrayEquals(bytes, TypedJson.read(TypedJson.toString(bytes)));
                } else {
                    refused(json);
                }
            }
        }
        PlainJson.read("[" + repeated(127, "[", "", "]") + "]");
        for (int levels : new int[] {128, 100_000}) {
            assertThrows(ValueException.class, () -> PlainJson.read("[" + repeated(levels, "[", "", "]") + "]"));
            assertThrows(ValueException.class, () -> PlainJson.read(repeated(levels, "{\"a\":", "1", "}")));
        }
        // Values that are skipped are not limited.
        assertEquals("00", readHex("{\"x\":" + repeated(20_000, "[", "", "]") + ",\"@data-type\":\"none\"}"));
    }

    @Test
    void errorsLeaveTheOutputUnchanged() {
        ValueWriter out = new ValueWriter().beginList().add("before");
        for (String json : new String[] {
            "",
            "{",
            "[]",
            "{\"@data-type\":\"none\"} x",
            "\"\ud800\"",
            "{,}",
            "{\"@data-type\":\"vector\",\"data\":[{\"@data-type\":\"none\"},7]}"
        }) {
            assertThrows(ValueException.class, () -> TypedJson.read(json, out), json);
        }
        String twice = "{\"@data-type\":\"set\",\"data\":[{\"@data-type\":\"real\",\"data\":0.0},"
                + "{\"@data-type\":\"real\",\"data\":-0.0}]}";
        assertEquals(
                Reason.NOT_UNIQUE,
                assertThrows(ValueException.class, () -> TypedJson.read(twice, out))
                        .reason());
        assertEquals(
                Reason.NOT_UNIQUE,
                assertThrows(ValueException.class, () -> PlainJson.read("{\"a\":1,\"a\":2}", out))
                        .reason());
        TypedJson.read("{\"@data-type\":\"none\"}", out);
        assertEquals("0e0205066265666f726500", hex(out.end().toByteArray()));
    }

    @Test
    void errorsSayWhatWasExpectedAndWhere() {
        String error = refused("{\"@data-type\":\"vector\",\"data\":[\n{\"@data-type\":\"count\",\"data\":-1}]}")
                .getMessage();
        assertTrue(error.contains("a whole number from 0 to") && error.contains("line 2 column 30"), error);
        error = refused("{\"@data-type\":\"phone\",\"data\":\"555\"}").getMessage();
        assertTrue(error.contains("\"phone\" is not a type; use one of none, boolean, count"), error);
    }

    private static void assertPlain(String expected, Value value) {
        assertEquals(expected, PlainJson.toString(value.encode()));
    }

    @Test
    void plainJsonIsHumanReadable() {
        Value none = new Value.None();
        assertPlain("null", none);
        assertPlain("18446744073709551615", new Value.Count(-1));
        assertPlain("-7", new Value.Int(-7));
        assertPlain("1.0", new Value.Real(1));
        assertPlain("\"nan\"", new Value.Real(Double.NaN));
        assertPlain("\"a\ufffd\"", Text.of(new byte[] {'a', (byte) 0xff}));
        assertPlain("\"10.0.0.0/8\"", Subnet.parse("10.1.2.3/8"));
        assertPlain("\"53/udp\"", Port.parse("53/udp"));
        assertPlain("\"1969-12-31T23:59:59.999999999Z\"", new Value.Timestamp(-1));
        assertPlain("\"1970-01-01T00:00:00.000000000Z\"", new Value.Timestamp(0));
        assertPlain("\"-9223372036.854775808s\"", new Value.Timespan(Long.MIN_VALUE));
        assertPlain("\"1.5s\"", new Value.Timespan(1_500_000_000));
        assertPlain("\"0s\"", new Value.Timespan(0));
        assertPlain("[1,2]", Value.Set.of(new Value.Count(2), new Value.Count(1)));
        assertPlain("{}", Value.Table.of(Map.of()));
        assertPlain(
                "{\"80/tcp\":{\"a\":true}}",
                Value.Table.of(
                        Map.of(Port.parse("80/tcp"), Value.Table.of(Map.of(Text.of("a"), new Value.Bool(true))))));
        assertPlain(
                "{\"A\":null,\"B\":null}",
                Value.Table.of(Map.of(new Value.EnumName("B"), none, new Value.EnumName("A"), none)));
        // Keys that are numbers, of two types, not text, or containers; inside and after them the rules are the same.
        assertPlain("[[1,null],[2,null]]", Value.Table.of(Map.of(new Value.Count(1), none, new Value.Count(2), none)));
        assertPlain(
                "[[\"A\",1],[\"A\",2]]",
                Value.Table.of(Map.of(Text.of("A"), new Value.Count(1), new Value.EnumName("A"), new Value.Count(2))));
        assertPlain(
                "[[\"a\ufffd\",1]]",
                Value.Table.of(Map.of(Text.of(new byte[] {'a', (byte) 0xff}), new Value.Count(1))));
        assertPlain(
                "[[[{\"a\":null},[[null,null]]]],{\"b\":[]}]",
                Value.Vector.of(
                        Value.Table.of(
                                Map.of(Value.Table.of(Map.of(Text.of("a"), none)), Value.Table.of(Map.of(none, none)))),
                        Value.Table.of(Map.of(Text.of("b"), Value.Vector.of()))));
    }

    @Test
    void plainJsonIsReadAsValuesOfJsonTypes() {
        Value expected = Value.Table.of(Map.of(
                Text.of("a"),
                        Value.Vector.of(
                                new Value.None(),
                                new Value.Bool(true),
                                new Value.Count(0),
                                new Value.Count(-1),
                                new Value.Int(-1),
                                new Value.Real(1),
                                new Value.Real(-500),
                                new Value.Real(18_446_744_073_709_551_616.0)),
                Text.of("b"), Value.Table.of(Map.of(Text.of("x"), Text.of("10.0.0.1"))),
                Text.of("c"), Value.Table.of(Map.of())));
        assertEquals(
                expected,
                Value.decode(PlainJson.read("{\"a\":[null,true,0,18446744073709551615,-1,1.0,-0.5e3,"
                        + "18446744073709551616] ,\n\"b\":{\"x\":\"10.0.0.1\"},\"c\":{}}")));
        assertEquals("0504c3a9f09f9880".replace("0504", "0506"), hex(PlainJson.read("\"\\u00e9\\ud83d\\ude00\"")));
        for (String json : new String[] {
            "",
            "{",
            "nan",
            "[1,]",
            "1 2",
            "\u0001",
            "1e999",
            "\"\\ud83d\"",
            "\"\\ud83dx\"",
            "\"a",
            "\"\\x\"",
            "tru",
            "{\"a\"}",
            "{\"a\":}",
            "{1:2}",
            "[1 2]",
            "-",
            "+1",
            "01"
        }) {
            assertThrows(ValueException.class, () -> PlainJson.read(json), json);
        }
    }

    @Test
    void deepValuesAreWrittenWithoutRecursion() {
        byte[] bytes = new byte[4 * 200_000 + 1];
        for (int at = 0; at + 4 < bytes.length; at += 4) {
            System.arraycopy(new byte[] {0x0d, 1, 5, 0}, 0, bytes, at, 4);
        }
        assertTrue(PlainJson.toString(bytes).endsWith("}".repeat(200_000)));
        assertTrue(TypedJson.toString(bytes).endsWith("}]}"));
    }

    @Test
    void invalidBytesAreRefused() {
        for (String bytes : new String[] {"", "0f", "0e02", "0503", "0000", "0dffffffff0f", "08000104"}) {
            assertThrows(ValueException.class, () -> TypedJson.toString(unhex(bytes)));
            assertThrows(ValueException.class, () -> PlainJson.toString(unhex(bytes)));
        }
    }

    @Test
    void randomValuesRoundTripThroughJson() throws JsonProcessingException {
        Random random = new Random(3);
        for (int round = 0; round < 2_000; round++) {
            byte[] bytes = RandomValues.next(random, 4).encode();
            String written = TypedJson.toString(bytes);
            assertEquals(hex(bytes), readHex(written), written);
            String people = PlainJson.toString(bytes);
            JACKSON.readTree(people);
            // The plain mapping loses types, but its text round-trips.
            assertEquals(people, PlainJson.toString(PlainJson.read(people)));
        }
    }

    @Test
    void changedJsonIsReadOrRefused() {
        Random random = new Random(4);
        String letters = "{}[]\",:0-9.eEtfn\\u\ud800";
        int read = 0;
        for (JsonNode vector : Vectors.read("values")) {
            String json = written(vector.get("hex").asText());
            StringBuilder changed = new StringBuilder(json.substring(0, Math.min(json.length(), 2_000)));
            for (int round = 0; round < 20; round++) {
                changed.setCharAt(random.nextInt(changed.length()), letters.charAt(random.nextInt(letters.length())));
                String text = changed.toString();
                for (boolean isTyped : new boolean[] {true, false}) {
                    ValueWriter out = new ValueWriter();
                    if (Bodies.errorOf(() -> readInto(isTyped, text, out)) == null) {
                        Value.decode(out.toByteArray());
                        read++;
                    } else {
                        assertEquals(0, out.length());
                    }
                }
            }
        }
        assertFalse(read == 0);
    }

    private static void readInto(boolean isTyped, String text, ValueWriter out) {
        if (isTyped) {
            TypedJson.read(text, out);
        } else {
            PlainJson.read(text, out);
        }
    }
}
