package io.rawline.value;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Values that generated codecs write, read and refuse. */
class CodecTest {
    /** Every type of the standard library that is supported. */
    @GenerateCodec
    record Everything(
            boolean flag,
            Boolean boxedFlag,
            byte tiny,
            short small,
            int whole,
            long large,
            Long boxed,
            float single,
            double real,
            char letter,
            String text,
            byte[] raw,
            int[] numbers,
            double[] reals,
            String[][] grid,
            InetAddress host,
            Duration span,
            Instant time,
            @ValueField(as = Kind.TIMESTAMP) long nanoseconds,
            OptionalInt maybeInt,
            OptionalLong maybeLong,
            OptionalDouble maybeDouble,
            Optional<List<String>> maybeList,
            List<Optional<Inner>> inners,
            @ValueField(as = Kind.SET) List<Integer> asSet,
            TreeSet<Long> sorted,
            Map<String, List<Inner>> lists,
            SortedMap<Integer, Map<Color, Double>> nested,
            Color color,
            Uid uid) {}

    /** An enum without annotations. */
    enum Color {
        RED,
        GREEN
    }

    /** One field. */
    @GenerateCodec
    record Inner(int x) {}

    /** A wrapper. */
    @GenerateCodec(transparent = true)
    record Uid(String text) {}

    /** A class with public fields, as programs have them. */
    @GenerateCodec
    static final class Event {
        /** Required. */
        String name;
        /** With an initial value. */
        @ValueField(optional = true)
        List<String> tags = List.of("initial");
        /** With a default. */
        @ValueField(orElse = "seven")
        int level;
        /** Left out. */
        transient String cache = "cache";

        static int seven() {
            return 7;
        }
    }

    /** Of itself. */
    @GenerateCodec
    record Tree(List<Tree> children) {}

    /** Of itself, without a container. */
    @GenerateCodec(transparent = true)
    record Endless(Optional<Endless> content) {}

    /** Fields that may be null, are renamed, skipped, or written by another codec. */
    @GenerateCodec(names = NameCase.SNAKE_CASE)
    record Options(
            @Nullable String mayBeNull,
            @ValueField(name = "n") int renamed,
            @ValueField(skip = true) String skipped,
            @ValueField(with = Celsius.class) double temperature,
            @ValueField(orElse = "java.util.List.of") List<String> later) {}

    /** Of any library. */
    @interface Nullable {}

    /** Written in kelvin. */
    static final class Celsius extends ValueCodec<Double> {
        @Override
        public void write(Double value, ValueWriter writer) {
            writer.add(value + 273.15);
        }

        @Override
        public Double read(ValueReader reader) {
            return reader.real() - 273.15;
        }
    }

    private static Everything everything() throws Exception {
        return new Everything(
                true,
                false,
                Byte.MIN_VALUE,
                Short.MAX_VALUE,
                -1,
                Long.MIN_VALUE,
                5L,
                1.5f,
                Double.POSITIVE_INFINITY,
                'ü',
                "text",
                new byte[] {1, -1},
                new int[] {1, -2},
                new double[] {0.5},
                new String[][] {{"a"}, {}},
                InetAddress.getByName("192.0.2.1"),
                Duration.ofSeconds(-9_223_372_036L, -854_775_808L),
                Instant.ofEpochSecond(9_223_372_036L, 854_775_807L),
                -5,
                OptionalInt.of(3),
                OptionalLong.empty(),
                OptionalDouble.of(0.5),
                Optional.of(List.of("x")),
                List.of(Optional.of(new Inner(1)), Optional.empty()),
                List.of(2, 1),
                new TreeSet<>(Set.of(1L, 2L)),
                Map.of("a", List.of(new Inner(2))),
                new java.util.TreeMap<>(Map.of(1, Map.of(Color.GREEN, 0.5))),
                Color.RED,
                new Uid("u"));
    }

    @Test
    void everyTypeComesBack() throws Exception {
        Everything written = everything();
        for (EverythingForm form : EverythingForm.values()) {
            byte[] bytes = form.codec.encode(written);
            new ValueDecoder().decode(bytes);
            Everything read = CodecTest_EverythingCodec.TABLE.decode(bytes);
            assertArrayEquals(bytes, form.codec.encode(read));
            assertArrayEquals(written.grid(), read.grid());
            assertEquals(written.span(), read.span());
            assertEquals(written.time(), read.time());
            assertEquals(written.inners(), read.inners());
            assertEquals(written.nested(), read.nested());
            assertEquals(written.host(), read.host());
            assertEquals(written.asSet(), read.asSet());
        }
    }

    private enum EverythingForm {
        TABLE(CodecTest_EverythingCodec.TABLE),
        VECTOR(CodecTest_EverythingCodec.VECTOR);

        private final ValueCodec<Everything> codec;

        EverythingForm(ValueCodec<Everything> codec) {
            this.codec = codec;
        }
    }

    @Test
    void bytesAreThoseOfAWriter() {
        byte[] inner =
                new ValueWriter().beginTable().add("x").addInteger(5).end().toByteArray();
        assertArrayEquals(inner, CodecTest_InnerCodec.TABLE.encode(new Inner(5)));
        assertArrayEquals(
                new ValueWriter().beginList().addInteger(5).end().toByteArray(),
                CodecTest_InnerCodec.VECTOR.encode(new Inner(5)));
        assertArrayEquals(new ValueWriter().add("u").toByteArray(), CodecTest_UidCodec.TABLE.encode(new Uid("u")));
        // Within what a writer has begun, a record is one value.
        ValueWriter writer = new ValueWriter().beginTable().add("key");
        CodecTest_InnerCodec.TABLE.write(new Inner(5), writer);
        assertEquals("{\"key\":{\"x\":5}}", PlainJson.toString(writer.end().toByteArray()));
    }

    @Test
    void fieldsAreReadInAnyOrderAndUnknownOnesSkipped() {
        Random random = new Random(7);
        for (int round = 0; round < 500; round++) {
            List<String> names = new ArrayList<>(List.of("may_be_null", "n", "temperature", "later", "new", "other"));
            Collections.shuffle(names, random);
            ValueWriter writer = new ValueWriter().beginTable();
            for (String name : names) {
                switch (name) {
                    case "may_be_null" -> writer.add(name).add("text");
                    case "n" -> writer.add(name).addCount(1);
                    case "temperature" -> writer.add(name).add(273.15);
                    case "later" -> writer.add(name).beginList().add("a").end();
                    default -> writer.add(name).beginTable().add("n").add("x").end();
                }
            }
            writer.addCount(3).addNone();
            assertEquals(
                    new Options("text", 1, null, 0.0, List.of("a")),
                    CodecTest_OptionsCodec.TABLE.decode(writer.end().toByteArray()),
                    names.toString());
        }
    }

    @Test
    void optionsApply() {
        Options options = new Options(null, 1, "skipped", 0, List.of());
        assertEquals(
                "{\"n\":1,\"temperature\":273.15,\"later\":[]}",
                PlainJson.toString(CodecTest_OptionsCodec.TABLE.encode(options)));
        assertEquals("[null,1,273.15,[]]", PlainJson.toString(CodecTest_OptionsCodec.VECTOR.encode(options)));
        byte[] some = new ValueWriter()
                .beginTable()
                .add("n")
                .addInteger(2)
                .add("temperature")
                .add(273.15)
                .end()
                .toByteArray();
        assertEquals(new Options(null, 2, null, 0, List.of()), CodecTest_OptionsCodec.TABLE.decode(some));
        byte[] longer = new ValueWriter()
                .beginList()
                .addInteger(1)
                .add("later")
                .beginList()
                .end()
                .end()
                .toByteArray();
        assertEquals(new Inner(1), CodecTest_InnerCodec.VECTOR.decode(longer));
    }

    @Test
    void classesKeepInitialValues() {
        byte[] bytes = new ValueWriter().beginTable().add("name").add("n").end().toByteArray();
        Event event = CodecTest_EventCodec.TABLE.decode(bytes);
        assertEquals("n", event.name);
        assertEquals(List.of("initial"), event.tags);
        assertEquals(7, event.level);
        assertEquals("cache", event.cache);
        event.tags = null;
        assertNull(CodecTest_EventCodec.TABLE.decode(CodecTest_EventCodec.VECTOR.encode(event)).tags);
    }

    @Test
    void buffersAndReadersAreReused() {
        ValueWriter writer = new ValueWriter();
        ValueReader reader = new ValueReader();
        for (int x = 0; x < 3; x++) {
            CodecTest_InnerCodec.TABLE.encode(new Inner(x), writer);
            assertEquals(
                    new Inner(x), CodecTest_InnerCodec.TABLE.decode(reader.reset(writer.array(), 0, writer.length())));
            ByteBuffer buffer = writer.toByteBuffer();
            assertEquals(new Inner(x), CodecTest_InnerCodec.TABLE.decode(buffer));
            assertEquals(new Inner(x), CodecTest_InnerCodec.TABLE.decode(buffer.asReadOnlyBuffer()));
        }
    }

    @Test
    void numbersAndTextAreConverted() {
        byte[] count = new ValueWriter().beginList().addCount(7).end().toByteArray();
        assertEquals(new Inner(7), CodecTest_InnerCodec.TABLE.decode(count));
        assertEquals(
                new Uid("192.0.2.1"),
                CodecTest_UidCodec.TABLE.decode(
                        new ValueWriter().add(Address.parse("192.0.2.1")).toByteArray()));
        assertEquals(
                new Uid("1970-01-01T00:00:00.000000000Z"),
                CodecTest_UidCodec.TABLE.decode(
                        new ValueWriter().addTimestamp(0).toByteArray()));
        assertEquals(
                new Uid("-1.5s"),
                CodecTest_UidCodec.TABLE.decode(
                        new ValueWriter().addTimespan(-1_500_000_000L).toByteArray()));
        assertEquals(
                new Uid("\ufffd"),
                CodecTest_UidCodec.TABLE.decode(new ValueWriter().add("\ufffd").toByteArray()));
    }

    private static ValueException refused(ValueCodec<?> codec, byte[] bytes) {
        return assertThrows(ValueException.class, () -> codec.decode(bytes));
    }

    @Test
    void errorsNameTheField() throws Exception {
        ValueWriter writer = new ValueWriter();
        byte[] wrong = writer.beginTable()
                .add("children")
                .beginList()
                .beginTable()
                .add("children")
                .add("text")
                .end()
                .end()
                .end()
                .toByteArray();
        ValueException error = refused(CodecTest_TreeCodec.TABLE, wrong);
        assertEquals("children.children", error.path());
        assertEquals(
                "field children.children: at byte 26 is a string and not a vector; check the value's kind first, or"
                        + " pass a fallback",
                error.getMessage());
        error = refused(
                CodecTest_TreeCodec.TABLE, new ValueWriter().beginTable().end().toByteArray());
        assertEquals(
                "field children: missing; send it, or give the field a default with optional or orElse",
                error.getMessage());
        byte[] inVector = new ValueWriter().beginList().addCount(1L << 40).end().toByteArray();
        assertEquals(
                "field x: the field's type can't hold the number 1099511627776; use a larger type",
                refused(CodecTest_InnerCodec.TABLE, inVector).getMessage());
        byte[] twice = new ValueWriter()
                .beginTable()
                .add("x")
                .addInteger(1)
                .add("x")
                .addInteger(2)
                .end()
                .toByteArray();
        assertEquals(
                "field x: duplicate; send each key once",
                refused(CodecTest_InnerCodec.TABLE, twice).getMessage());
        byte[] bytes = CodecTest_EverythingCodec.TABLE.encode(everything());
        for (int length = 0; length < bytes.length; length++) {
            refused(CodecTest_EverythingCodec.TABLE, Arrays.copyOf(bytes, length));
        }
        assertEquals(
                "field name: duplicate; send each key once",
                refused(
                                CodecTest_EventCodec.TABLE,
                                new ValueWriter()
                                        .beginTable()
                                        .add("level")
                                        .addInteger(1)
                                        .add("name")
                                        .add("a")
                                        .add("name")
                                        .add("b")
                                        .end()
                                        .toByteArray())
                        .getMessage());
    }

    @Test
    void invalidTextIsRefused() {
        assertEquals(
                ValueException.Reason.UTF8,
                refused(CodecTest_UidCodec.TABLE, new byte[] {5, 2, 'a', (byte) 0xff})
                        .reason());
    }

    @Test
    void variantsAreChecked() {
        ValueCodec<Connection.Outcome> codec = Connection_OutcomeCodec.TABLE;
        assertEquals(
                new Connection.Unknown(),
                codec.decode(new ValueWriter().add("Unknown").toByteArray()));
        assertEquals(
                "the variant Closed has no content, unlike the type's variant of this name",
                refused(codec, new ValueWriter().addEnum("Closed").toByteArray())
                        .getMessage());
        assertEquals(
                "the variant Unknown has content, unlike the type's variant of this name",
                refused(
                                codec,
                                new ValueWriter()
                                        .beginList()
                                        .addEnum("Unknown")
                                        .addNone()
                                        .end()
                                        .toByteArray())
                        .getMessage());
        assertEquals(
                "the type has no variant \"x\"; its variants are Closed, Failed, Unknown",
                refused(codec, new ValueWriter().add("x").toByteArray()).getMessage());
        assertEquals(
                "a variant is its name, or a vector of its name and its content",
                refused(codec, new ValueWriter().beginList().end().toByteArray())
                        .getMessage());
    }

    @Test
    void duplicatesAreRefused() throws Exception {
        Everything one = everything();
        String key = "asSet";
        byte[] bytes = CodecTest_EverythingCodec.TABLE.encode(one);
        int at = new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1).indexOf(key) + key.length();
        assertEquals(Wire.SET, bytes[at]);
        // The elements 2 and 1 become 2 and 2.
        bytes[at + 2 + 9 + 8] = 2;
        ValueException error = refused(CodecTest_EverythingCodec.TABLE, bytes);
        assertEquals("asSet " + ValueException.Reason.NOT_UNIQUE, error.path() + " " + error.reason());
        byte[] again = CodecTest_EverythingCodec.TABLE.encode(one);
        at = new String(again, java.nio.charset.StandardCharsets.ISO_8859_1).indexOf("sorted") + "sorted".length();
        again[at + 2 + 9 + 8] = again[at + 2 + 8];
        assertEquals("sorted", refused(CodecTest_EverythingCodec.TABLE, again).path());
    }

    @Test
    void depthIsLimitedWhereValuesAreWrittenAndRead() {
        Tree tree = new Tree(List.of());
        for (int level = 1; level < 64; level++) {
            tree = new Tree(List.of(tree));
        }
        Tree deepest = tree;
        byte[] bytes = CodecTest_TreeCodec.VECTOR.encode(deepest);
        assertEquals(deepest, CodecTest_TreeCodec.VECTOR.decode(bytes));
        Tree deeper = new Tree(List.of(deepest));
        assertEquals(
                ValueException.Reason.TOO_DEEP,
                assertThrows(ValueException.class, () -> CodecTest_TreeCodec.TABLE.encode(deeper))
                        .reason());
        byte[] more = new byte[bytes.length + 4];
        System.arraycopy(new byte[] {0x0e, 1, 0x0e, 1}, 0, more, 0, 4);
        System.arraycopy(bytes, 0, more, 4, bytes.length);
        assertEquals(
                ValueException.Reason.TOO_DEEP,
                refused(CodecTest_TreeCodec.VECTOR, more).reason());
        assertEquals(
                ValueException.Reason.TOO_DEEP,
                refused(CodecTest_EndlessCodec.TABLE, new byte[] {1, 1}).reason());
    }

    @Test
    void limitsAreCheckedWhereValuesAreWritten() {
        Tree[] many = new Tree[1 << 20];
        Arrays.fill(many, new Tree(List.of()));
        assertEquals(
                ValueException.Reason.TOO_MANY_ELEMENTS,
                assertThrows(ValueException.class, () -> CodecTest_TreeCodec.VECTOR.encode(new Tree(List.of(many))))
                        .reason());
        assertEquals(
                ValueException.Reason.TOO_LONG,
                assertThrows(ValueException.class, () -> CodecTest_UidCodec.TABLE.encode(new Uid("x".repeat(16 << 20))))
                        .reason());
        Event early = new Event();
        assertTrue(assertThrows(NullPointerException.class, () -> CodecTest_EventCodec.TABLE.encode(early))
                .getMessage()
                .contains("the field name is or contains null"));
        assertThrows(ValueException.class, () -> CodecWrites.nanoseconds(Instant.MAX));
        assertThrows(
                ValueException.class, () -> CodecWrites.nanoseconds(Duration.ofSeconds(9_223_372_036L, 854_775_808)));
    }

    /** Bytes from a hostile sender: what is read can be written again, what isn't has a reason. */
    @Test
    void damagedBytesGetAnError() throws Exception {
        byte[] table = CodecTest_EverythingCodec.TABLE.encode(everything());
        byte[] vector = CodecTest_EverythingCodec.VECTOR.encode(everything());
        Random random = new Random(5);
        int read = 0;
        int refused = 0;
        for (int round = 0; round < 20_000; round++) {
            byte[] damaged = (round % 2 == 0 ? table : vector).clone();
            for (int change = random.nextInt(3); change >= 0; change--) {
                damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(random.nextBoolean() ? 16 : 256);
            }
            try {
                CodecTest_EverythingCodec.TABLE.encode(CodecTest_EverythingCodec.TABLE.decode(damaged));
                read++;
            } catch (ValueException error) {
                refused++;
            }
        }
        assertTrue(read > 0 && refused > 0, read + " read, " + refused + " refused");
    }
}
