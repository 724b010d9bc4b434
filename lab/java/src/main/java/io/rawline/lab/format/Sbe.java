/* Simple Binary Encoding: flyweights that sbe-tool generates, read and written in the schema's order. */
package io.rawline.lab.format;

import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import io.rawline.lab.sbe.BooleanType;
import io.rawline.lab.sbe.MessageHeaderDecoder;
import io.rawline.lab.sbe.MessageHeaderEncoder;
import java.util.Arrays;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The encoder, the decoder and the buffer are reused, as its documentation advises. Strings come after the groups, so
 * reading one means skipping the groups: that is the format.
 */
public final class Sbe {
    private Sbe() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("sbe", "sbe-tool", Versions.of("sbe"), "", SbeCases::of));
    }

    /** The buffers of all cases. */
    abstract static class Flyweights<M extends Message> implements PlainRow<M> {
        // No message of the laboratory is longer.
        private static final int BYTES_MAX = 4 << 20;

        final UnsafeBuffer out = new UnsafeBuffer(new byte[BYTES_MAX]);
        final UnsafeBuffer in = new UnsafeBuffer(new byte[0]);
        final DirectBuffer view = new UnsafeBuffer(new byte[0]);
        final MessageHeaderEncoder headerEncoder = new MessageHeaderEncoder();
        final MessageHeaderDecoder headerDecoder = new MessageHeaderDecoder();
        private int bytes;

        /** The encoder's limit is the end of the message. */
        final Object written(int limit) {
            bytes = limit;
            return out;
        }

        @Override
        public final byte[] bytes(Object encoded) {
            return Arrays.copyOf(out.byteArray(), bytes);
        }

        final long checkView() {
            int length = view.capacity();
            return length == 0 ? 0 : Check.ofBytes(length, view.getByte(length - 1));
        }

        static BooleanType of(boolean value) {
            return value ? BooleanType.T : BooleanType.F;
        }

        static String orAbsent(String text) {
            return text.isEmpty() ? null : text;
        }

        static Double orAbsent(double number) {
            return Double.isNaN(number) ? null : number;
        }

        static long checkOrAbsent(double number) {
            return Double.isNaN(number) ? 0 : Check.of(number);
        }

        static String orEmpty(String text) {
            return text == null ? "" : text;
        }
    }
}
