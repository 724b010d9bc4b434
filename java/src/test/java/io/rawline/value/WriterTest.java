package io.rawline.value;

import static io.rawline.value.Vectors.hex;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.management.ThreadMXBean;
import io.rawline.value.ValueException.Reason;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Writing without a tree, and reading the result in every way. */
class WriterTest {
    private static final Field UID = Field.of("uid");
    private static final Field QUERY = Field.of("query");
    private static final Field ADDRESS = Field.of("resp_h");
    private static final Fields FIELDS = Fields.of("uid", "resp_h", "query", "answers");

    @Test
    void theReferenceBytesAreWritten() throws IOException {
        ValueWriter writer = new ValueWriter(0);
        writer.beginList().addCount(1).addCount(1);
        writer.beginList()
                .add("event_1")
                .beginList()
                .addInteger(42)
                .add("test")
                .end()
                .end()
                .end();
        assertEquals(hex(Vectors.value("event_1")), hex(writer.toByteArray()));
        writer.clear()
                .beginTable()
                .add("first-name")
                .add("John")
                .key(Field.of("last-name"))
                .add("Doe")
                .end();
        byte[] expected = Vectors.value("table_1");
        assertArrayEquals(expected, writer.toByteArray());
        assertArrayEquals(expected, Arrays.copyOf(writer.array(), writer.length()));
        assertEquals(ByteBuffer.wrap(expected), writer.toByteBuffer());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writer.writeTo(out);
        assertArrayEquals(expected, out.toByteArray());
    }

    @Test
    void everyTypeIsWrittenLikeItsTree() {
        ValueWriter writer = new ValueWriter(0).beginList();
        writer.addNone()
                .add(true)
                .addCount(-1)
                .addInteger(-2)
                .add(-1.5)
                .add("text")
                .add(Address.parse("::1"));
        writer.add(Subnet.parse("10.0.0.0/8"))
                .add(Port.parse("65535/icmp"))
                .addTimestamp(-3)
                .addTimespan(4);
        writer.addEnum("Conn::LOG")
                .addBytes(new byte[] {-1, 0}, 1, 1)
                .addBytes(new byte[] {-1})
                .end();
        Value expected = Value.Vector.of(
                new Value.None(),
                new Value.Bool(true),
                new Value.Count(-1),
                new Value.Int(-2),
                new Value.Real(-1.5),
                Text.of("text"),
                Address.parse("::1"),
                Subnet.parse("10.0.0.0/8"),
                Port.parse("65535/icmp"),
                new Value.Timestamp(-3),
                new Value.Timespan(4),
                new Value.EnumName("Conn::LOG"),
                Text.of(new byte[1]),
                Text.of(new byte[] {-1}));
        assertEquals(expected, Value.decode(writer.toByteArray()));
        assertArrayEquals(expected.encode(), writer.toByteArray());
    }

    @Test
    void stringsOfEveryKindAndLengthAreEncodedAsUtf8() {
        ValueWriter writer = new ValueWriter(0);
        for (String unit : new String[] {"a", "\u00e9", "\u20ac", "\ud83d\ude00"}) {
            for (int count : new int[] {0, 1, 7, 62, 63, 64, 65, 66, 127, 128, 16_383, 16_384}) {
                String text = unit.repeat(count);
                writer.clear()
                        .beginList()
                        .add(text)
                        .addEnum(text)
                        .key(Field.of(text))
                        .add(Text.of(text))
                        .end();
                ValueView view = ValueView.of(writer.toByteArray());
                assertEquals(text, view.get(0).asString());
                assertEquals(text, view.get(1).asEnum());
                assertEquals(view.get(0), view.get(2));
                assertEquals(view.get(0), view.get(3));
                assertTrue(view.get(0).isString(Field.of(text)));
                assertFalse(view.get(0).isString(Field.of(text + "b")));
            }
        }
    }

    @Test
    void containersAbove127ElementsGetALongerSize() {
        for (int count : new int[] {0, 127, 128, 16_383, 16_384}) {
            ValueWriter writer =
                    new ValueWriter(0).addNone().beginTable().add("many").beginList();
            List<Value> numbers = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                writer.addCount(number);
                numbers.add(new Value.Count(number));
            }
            writer.end().add("none").beginSet().end().end();
            Value table = Value.Table.of(java.util.Map.of(
                    Text.of("many"), new Value.Vector(numbers), Text.of("none"), new Value.Set(List.of())));
            byte[] written = writer.toByteArray();
            assertArrayEquals(table.encode(), Arrays.copyOfRange(written, 1, written.length));
        }
    }

    @Test
    void endSortedSortsAndRefusesDuplicates() {
        ValueWriter writer =
                new ValueWriter().beginList().beginSet().add("b").addCount(7).add("a");
        writer.beginList().addInteger(1).end().endSorted().end();
        assertArrayEquals(Value.decode(writer.toByteArray()).encode(), writer.toByteArray());
        writer.clear().beginTable().add("b").addNone().add("a").add(true).endSorted();
        assertEquals("0d02050161010105016200", hex(writer.toByteArray()));
        writer.clear().beginSet().add(0.0).add(-0.0);
        ValueException error = assertThrows(ValueException.class, writer::endSorted);
        Vectors.assertError(error, Reason.NOT_UNIQUE, 0, 0);
        byte[] twins = writer.toByteArray();
        assertThrows(ValueException.class, () -> ValueView.of(twins));
        writer.clear().beginSet();
        for (int number = 300; number > 0; number--) {
            writer.addCount(number);
        }
        assertArrayEquals(Value.decode(writer.endSorted().toByteArray()).encode(), writer.toByteArray());
    }

    @Test
    void mismatchedCallsAreRefused() {
        assertThrows(IllegalStateException.class, () -> new ValueWriter().end());
        assertThrows(IllegalStateException.class, () -> new ValueWriter().endSorted());
        assertThrows(
                IllegalStateException.class, () -> new ValueWriter().beginList().toByteArray());
        assertThrows(
                IllegalStateException.class,
                () -> new ValueWriter().beginTable().key(UID).end());
        assertThrows(IllegalArgumentException.class, () -> Fields.of("a", "b", "a"));
    }

    @Test
    void accessorsConvertNoTypes() {
        ValueView list = ValueView.of(Vectors.value("vector_one_of_everything"));
        for (ValueView value : list.elements()) {
            List<Consumer<ValueView>> accessors = List.of(
                    ValueView::asBoolean,
                    ValueView::asCount,
                    ValueView::asInteger,
                    ValueView::asReal,
                    ValueView::asString,
                    ValueView::asAddress,
                    ValueView::asSubnet,
                    ValueView::asPort,
                    ValueView::asTimestamp,
                    ValueView::asTimespan,
                    ValueView::asEnum);
            for (int index = 0; index < accessors.size(); index++) {
                Consumer<ValueView> accessor = accessors.get(index);
                ValueException error = Bodies.errorOf(() -> accessor.accept(value));
                assertEquals(value.kind().tag() == index + 1, error == null, value.kind() + " " + index);
            }
        }
        assertEquals(5, list.get(99).asCount(5));
        assertEquals("-", list.asString("-"));
        assertFalse(list.get(99).isPresent());
        assertTrue(list.get(99).isNone());
        assertThrows(IndexOutOfBoundsException.class, () -> list.elements().get(99));
    }

    private static byte[] table(String... names) {
        ValueWriter writer = new ValueWriter().beginTable();
        for (String name : names) {
            writer.add(name).addCount(name.length());
        }
        return writer.end().toByteArray();
    }

    @Test
    void aFieldIsFoundAtAnyPositionInTheNextTable() {
        String[] names = {"b", "bbb", "dd", "a-name-of-17-byte", "a-name-that-is-longer-than-24-bytes", ""};
        Field[] fields = Arrays.stream(names).map(Field::of).toArray(Field[]::new);
        ValueDecoder decoder = new ValueDecoder();
        for (String[] present : new String[][] {
            {"a", "b", "bbb", "dd"},
            {"a", "b", "bbb", "dd"},
            {"bbb", "dd"},
            {"b"},
            {},
            {"a", "b", "c", "dd"},
            names,
            {"dd", "", "a-name-of-17-byte"},
            {"a-name-that-is-longer-than-25-bytes", "c"}
        }) {
            byte[] bytes = table(present);
            for (int index = 0; index < names.length; index++) {
                boolean isThere = Arrays.asList(present).contains(names[index]);
                long expected = isThere ? names[index].length() : -1;
                assertEquals(expected, decoder.decode(bytes).get(fields[index]).asCount(-1), names[index]);
                assertEquals(expected, decoder.decode(bytes).get(names[index]).asCount(-1));
                assertEquals(expected, decoder.pick(bytes, fields[index]).asCount(-1));
                assertEquals(isThere, decoder.pick(bytes, fields[index]).isPresent());
            }
        }
        assertSame(ValueView.NONE, ValueView.of(new byte[1]).get(UID));
    }

    @Test
    void aPickIgnoresTheBytesAfterIt() {
        byte[] whole = new ValueWriter()
                .beginTable()
                .key(UID)
                .add("C1")
                .key(QUERY)
                .beginList()
                .add("example.com")
                .end()
                .add("tail")
                .beginList()
                .end()
                .end()
                .toByteArray();
        byte[] broken = whole.clone();
        broken[broken.length - 1] = 100;
        ValueDecoder decoder = new ValueDecoder();
        assertThrows(ValueException.class, () -> decoder.decode(broken));
        for (ByteBuffer buffer :
                List.of(ByteBuffer.wrap(broken), ByteBuffer.wrap(broken).asReadOnlyBuffer())) {
            assertEquals("C1", decoder.pick(buffer, UID).asString());
            assertEquals("example.com", decoder.pick(buffer, QUERY, Step.at(0)).asString());
            assertEquals(0, buffer.position());
        }
        assertEquals("example.com", decoder.pick(broken, QUERY).get(0).asString());
        assertSame(ValueView.NONE, decoder.pick(broken, 0, broken.length, QUERY, Step.at(1)));
        assertSame(ValueView.NONE, decoder.pick(broken, 0, broken.length, UID, QUERY));
        assertSame(ValueView.NONE, decoder.pick(whole, Field.of("other")));
        Vectors.assertError(
                assertThrows(ValueException.class, () -> decoder.pick(broken, Field.of("other"))),
                Reason.TRUNCATED,
                broken.length - 1,
                0);
        assertThrows(ValueException.class, () -> decoder.pick(new byte[0], UID));
    }

    @Test
    void aPickFromALargeReadOnlyBufferIsFoundAfterItsFirstPart() {
        ValueWriter writer = new ValueWriter().beginTable();
        writer.add("first")
                .add("x".repeat(20_000))
                .key(QUERY)
                .add("found")
                .add("last")
                .beginList();
        for (int index = 0; index < 20_000; index++) {
            writer.addCount(index);
        }
        ByteBuffer buffer = ByteBuffer.wrap(writer.end().end().toByteArray()).asReadOnlyBuffer();
        assertEquals("found", new ValueDecoder().pick(buffer, QUERY).asString());
        assertEquals(20_000, new ValueDecoder().pick(buffer, Field.of("last")).size());
        assertSame(ValueView.NONE, new ValueDecoder().pick(buffer, UID));
    }

    @Test
    void aReaderAcceptsFieldsInAnyOrder() {
        ValueWriter writer = new ValueWriter();
        ValueReader reader = new ValueReader();
        for (boolean isSwapped : new boolean[] {false, true}) {
            writer.clear().beginTable();
            for (int index = 0; index < 4; index++) {
                int number = isSwapped ? 3 - index : index;
                writer.key(FIELDS.get(number)).addCount(number);
                writer.addCount(7)
                        .beginList()
                        .add("skipped")
                        .addPort(1, Protocol.TCP)
                        .end()
                        .add("other")
                        .addNone();
            }
            reader.reset(writer.end().toByteArray());
            int seen = 0;
            for (int left = reader.table(); left > 0; left--) {
                int number = reader.field(FIELDS);
                if (number < 0) {
                    reader.skip();
                } else {
                    assertEquals(number, reader.count());
                    seen++;
                }
            }
            reader.finish();
            assertEquals(4, seen);
        }
        ValueException error = assertThrows(
                ValueException.class, () -> reader.reset(new byte[] {2, 0}).integer());
        Vectors.assertError(error, Reason.TYPE, 0, 2);
        error = assertThrows(
                ValueException.class, () -> reader.reset(new byte[] {2, 0}).count());
        Vectors.assertError(error, Reason.TRUNCATED, 1, 0);
    }

    private static ValueView view;

    @Test
    void nothingIsAllocatedAfterTheMemoryHasGrown() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        ValueWriter writer = new ValueWriter();
        ValueReader reader = new ValueReader();
        Address address = Address.parse("192.0.2.1");
        long check = 0;
        long before = 0;
        int rounds = 20_000;
        for (int round = 0; round < 2 * rounds; round++) {
            if (round == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            writer.clear()
                    .beginTable()
                    .key(UID)
                    .add("CHhAvVGS1DHFjwGM9")
                    .key(ADDRESS)
                    .add(address)
                    .key(QUERY);
            writer.beginList().addCount(round).add(0.5).end().end();
            reader.reset(writer.array(), 0, writer.length());
            for (int left = reader.table(); left > 0; left--) {
                check += reader.field(FIELDS);
                reader.skip();
            }
            reader.finish();
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals(2L * rounds * 3, check);
        // The measurement itself allocates a little.
        assertTrue(allocated < rounds, allocated + " bytes for " + rounds + " rounds");
        // A view is one small object; its index is reused.
        ValueDecoder decoder = new ValueDecoder();
        byte[] bytes = writer.toByteArray();
        for (int round = 0; round < 2 * rounds; round++) {
            if (round == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            view = decoder.decode(bytes);
        }
        allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(allocated <= 41L * rounds, allocated + " bytes for " + rounds + " views");
    }

    @Test
    void zeekMessagesRoundTrip() {
        for (JsonNode vector : Vectors.read("values")) {
            String name = vector.get("name").asText();
            byte[] bytes = hex(vector, "hex");
            Zeek.Message message = Zeek.read(ValueView.of(bytes));
            boolean isMessage =
                    name.startsWith("zeek_") || name.equals("event_1") || name.equals("event_1_via_builder");
            assertEquals(isMessage, message != null, name);
            ValueWriter out = new ValueWriter();
            if (message instanceof Zeek.LogCreate log) {
                Zeek.addLogCreate(
                        out,
                        log.stream().asEnum(),
                        log.writer().asEnum(),
                        to -> to.add(log.writerInfo()),
                        to -> to.add(log.fields()));
            } else if (message instanceof Zeek.LogWrite log) {
                Zeek.addLogWrite(
                        out,
                        log.stream().asEnum(),
                        log.writer().asEnum(),
                        log.path().asString(),
                        log.serialData().asBytes());
            } else if (message instanceof Zeek.IdentifierUpdate update) {
                Zeek.addIdentifierUpdate(out, update.name().asString(), to -> to.add(update.value()));
            } else if (message instanceof Zeek.Event event && event.metadata().size() <= 1) {
                Consumer<ValueWriter> arguments =
                        to -> event.arguments().elements().forEach(to::add);
                ValueView time = event.metadataOf(Zeek.METADATA_NETWORK_TIMESTAMP);
                if (time.isPresent()) {
                    Zeek.addEvent(out, event.name().asString(), time.asTimestamp(), arguments);
                } else {
                    Zeek.addEvent(out, event.name().asString(), arguments);
                }
            } else if (message instanceof Zeek.Batch batch) {
                assertFalse(batch.messages().isEmpty());
                Zeek.addBatch(out, to -> ValueView.of(bytes).get(2).elements().forEach(to::add));
            } else {
                continue;
            }
            if (!name.equals("zeek_event_user_metadata")) {
                assertEquals(hex(bytes), hex(out.toByteArray()), name);
            }
        }
        ValueWriter out = new ValueWriter()
                .beginList()
                .addCount(1)
                .addCount(5)
                .beginList()
                .addInteger(7)
                .end()
                .end();
        assertNull(Zeek.read(ValueView.of(out.toByteArray())));
        out.clear();
        Zeek.addEvent(out, "name", to -> to.addCount(1));
        assertEquals(
                1,
                ((Zeek.Event) Zeek.read(ValueView.of(out.toByteArray())))
                        .arguments()
                        .size());
    }
}
