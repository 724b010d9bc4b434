/* Avro: generic and specific records, as documented, and with everything reused. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.Row;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DatumWriter;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.util.Utf8;

public final class Avro {
    static {
        // Avro only creates objects of trusted classes; must be set before its first use.
        System.setProperty("org.apache.avro.SERIALIZABLE_PACKAGES", "rawline,rawline.lab");
    }

    private static final DecoderFactory DECODERS = DecoderFactory.get();
    private static final EncoderFactory ENCODERS = EncoderFactory.get();

    private Avro() {}

    /**
     * Specific records hold Strings, as in the published comparison; generic ones Utf8, which is Avro's default and can
     * be reused.
     */
    public static List<RowKind> rows() {
        return List.of(
                row("", RowKind.OPERATIONS, kase -> new Records(kase, specificSchema(kase), AvroCases.readOf(kase))),
                row("reused", List.of("decode", "fields"),
                        kase -> new ReusedRecords(kase, specificSchema(kase), AvroCases.readOf(kase))),
                row("new-encoder", List.of("encode"),
                        kase -> new NewEncoders(kase, specificSchema(kase), AvroCases.readOf(kase))),
                row("generic", RowKind.OPERATIONS, kase -> new Records(kase, genericSchema(kase), Avro::readGeneric)),
                row("generic-reused", List.of("decode", "fields"),
                        kase -> new ReusedRecords(kase, genericSchema(kase), Avro::readGeneric)));
    }

    private static RowKind row(String variant, List<String> operations, Function<Case, Row<?, ?>> opener) {
        return new RowKind("avro", "avro", Versions.of("avro"), variant, operations, opener);
    }

    private static Schema specificSchema(Case kase) {
        return switch (kase) {
            case PINGPONG -> rawline.lab.PingPong.SCHEMA$;
            case DOUBLES -> rawline.lab.Doubles.SCHEMA$;
            case STRINGS -> rawline.lab.Strings.SCHEMA$;
            case ZEEK -> rawline.lab.Zeek.SCHEMA$;
            case MEASUREMENT -> rawline.Measurement.SCHEMA$;
            case ORDER -> rawline.lab.Order.SCHEMA$;
        };
    }

    /** The schema without what the generated classes add to it: that strings are Strings. */
    private static Schema genericSchema(Case kase) {
        return new Schema.Parser().parse(specificSchema(kase).toString()
                .replace("{\"type\":\"string\",\"avro.java.string\":\"String\"}",
                "\"string\"")
                .replace(",\"avro.java.string\":\"String\"", ""));
    }

    private static long readGeneric(IndexedRecord record) {
        long check = 0;
        for (int i = 0, count = record.getSchema().getFields().size(); i < count; i++) {
            check += readAny(record.get(i));
        }
        return check;
    }

    @SuppressWarnings("unchecked")
    private static long readAny(Object value) {
        if (value instanceof CharSequence text) {
            return Check.of(text);
        } else if (value instanceof Double real) {
            return Check.of(real);
        } else if (value instanceof Number number) {
            return number.longValue();
        } else if (value instanceof Boolean bool) {
            return Check.of(bool.booleanValue());
        } else if (value instanceof IndexedRecord record) {
            return readGeneric(record);
        } else if (value instanceof List<?> list) {
            long check = 0;
            for (Object element : list) {
                check += readAny(element);
            }
            return check;
        }
        return value == null ? 0 : Check.of((Map<? extends CharSequence, ? extends CharSequence>) value);
    }

    /**
     * Reader, writer, stream, encoder and decoder are reused from message to message, as the factories' documentation
     * advises and as the other rows reuse theirs. Each message is decoded to a new record.
     */
    private static class Records implements Row<IndexedRecord, IndexedRecord> {
        final Schema schema;
        final DatumWriter<IndexedRecord> writer;
        final DatumReader<IndexedRecord> reader;
        private final Case kase;
        private final boolean specific;
        private final ToLongFunction<IndexedRecord> read;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream(1024);
        private final Utf8 text = new Utf8();
        private BinaryEncoder encoder;
        private BinaryDecoder decoder;

        Records(Case kase, Schema schema, ToLongFunction<IndexedRecord> read) {
            this.kase = kase;
            this.schema = schema;
            this.read = read;
            this.specific = schema == specificSchema(kase);
            this.writer = specific ? new SpecificDatumWriter<>(schema) : new GenericDatumWriter<>(schema);
            this.reader = specific ? new SpecificDatumReader<>(schema) : new GenericDatumReader<>(schema);
        }

        @Override
        public final IndexedRecord prepare(Object message) {
            return AvroRecords.record(message, schema, specific);
        }

        @Override
        public final Object restore(IndexedRecord decoded) {
            return AvroRecords.message(decoded, kase.type);
        }

        @Override
        public Object encode(IndexedRecord message) throws IOException {
            out.reset();
            encoder = ENCODERS.binaryEncoder(out, encoder);
            writer.write(message, encoder);
            encoder.flush();
            return out;
        }

        @Override
        public byte[] bytes(Object encoded) {
            return out.toByteArray();
        }

        @Override
        public IndexedRecord decode(byte[] bytes) throws IOException {
            return reader.read(null, decoder(bytes));
        }

        @Override
        public final long field(byte[] bytes) throws IOException {
            BinaryDecoder decoder = decoder(bytes);
            Schema at = schema;
            for (String name : kase.fieldPath) {
                Schema.Field field = at.getField(name);
                for (int i = 0; i < field.pos(); i++) {
                    GenericDatumReader.skip(at.getFields().get(i).schema(), decoder);
                }
                at = field.schema();
            }
            return at.getType() == Schema.Type.DOUBLE ? Check.of(decoder.readDouble())
                    : Check.of(decoder.readString(text));
        }

        @Override
        public final long fields(byte[] bytes) throws IOException {
            return read.applyAsLong(decode(bytes));
        }

        final BinaryDecoder decoder(byte[] bytes) {
            decoder = DECODERS.binaryDecoder(bytes, decoder);
            return decoder;
        }
    }

    /** The published comparison's lesson: one record for all messages, which the next message overwrites. */
    private static final class ReusedRecords extends Records {
        private IndexedRecord record;

        ReusedRecords(Case kase, Schema schema, ToLongFunction<IndexedRecord> read) {
            super(kase, schema, read);
        }

        @Override
        public IndexedRecord decode(byte[] bytes) throws IOException {
            record = reader.read(record, decoder(bytes));
            return record;
        }
    }

    /** A new stream, a new encoder and a copy of the bytes for each message, as in Avro's first example. */
    private static final class NewEncoders extends Records {
        NewEncoders(Case kase, Schema schema, ToLongFunction<IndexedRecord> read) {
            super(kase, schema, read);
        }

        @Override
        public Object encode(IndexedRecord message) throws IOException {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            BinaryEncoder encoder = ENCODERS.binaryEncoder(out, null);
            writer.write(message, encoder);
            encoder.flush();
            return out.toByteArray();
        }

        @Override
        public byte[] bytes(Object encoded) {
            return (byte[]) encoded;
        }
    }
}
