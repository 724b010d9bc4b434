package io.rawline.batch;

import io.rawline.error.ErrorKind;
import io.rawline.error.RawlineException;

/** A received batch, or one to be sent, breaks a rule; {@code docs/format.md} has the rules and their codes. */
public final class BatchException extends RawlineException {
    private static final long serialVersionUID = 1;

    /** The error's stable name. */
    private final String code;

    /**
     * An error without a cause.
     *
     * @param code the error's stable name
     * @param message the error, and what to do
     */
    public BatchException(String code, String message) {
        this(code, message, null);
    }

    BatchException(String code, String message, Throwable cause) {
        // Damage in transit is rare, so another attempt should succeed.
        super(
                code.equals("batch_crc") || code.equals("record_batch_damaged")
                        ? ErrorKind.TRY_AGAIN
                        : ErrorKind.FIX_REQUEST,
                message,
                cause);
        this.code = code;
    }

    /**
     * The error's stable name, for programs; the message may change.
     *
     * @return such as {@code batch_crc}
     */
    public String code() {
        return code;
    }

    @Override
    public BatchException copy() {
        return new BatchException(code, getMessage(), this);
    }

    static BatchException checksum(String code, int found, int expected) {
        return new BatchException(
                code,
                String.format(
                        "checksum mismatch: the bytes have CRC32C 0x%08x, the"
                                + " header says 0x%08x; they were damaged in transit: send them again",
                        found, expected));
    }

    /** A Kafka batch that can't be read. */
    static BatchException recordBatch(String reason) {
        return new BatchException(
                "record_batch_invalid", "Kafka's batch can't be read: " + reason + "; its producer must send another");
    }

    static BatchException truncated(long have, long need) {
        return new BatchException(
                "batch_truncated", "the batch is truncated: " + have + " of " + need + " bytes; send it whole");
    }

    /**
     * There are no records.
     *
     * @return the error {@code batch_empty}
     */
    public static BatchException empty() {
        return new BatchException("batch_empty", "the batch has no records; send at least one");
    }

    static BatchException reserved(long position) {
        return new BatchException(
                "batch_reserved", "the byte or flags at " + position + " are reserved; send zeros there");
    }

    static BatchException limit(String what, long found, long limit) {
        return new BatchException(
                "batch_limit", what + " is " + found + ", the limit here is " + limit + "; send smaller batches");
    }

    static BatchException decompress(String reason, Throwable cause) {
        return new BatchException(
                "batch_decompress",
                "the data can't be decompressed: " + reason + "; send it again from its source",
                cause);
    }

    static BatchException sizesOverflow(long sum) {
        return new BatchException(
                "batch_sizes_overflow",
                "the sum of the sizes is " + sum + " bytes, over the format's 4,294,967,295; send smaller batches");
    }

    static BatchException sizesSum(long sum, long rawBytes) {
        return new BatchException(
                "batch_sizes_sum",
                "the sum of the sizes is " + sum + " bytes, but there are " + rawBytes
                        + " bytes of records; send one size per record");
    }
}
