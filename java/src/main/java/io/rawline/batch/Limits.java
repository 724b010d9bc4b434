package io.rawline.batch;

/**
 * Limits of batches. A reader checks them against the header before it uses any byte after it.
 *
 * @param batchBytesMax maximum length of a whole batch, header and padding included, in bytes
 * @param recordsMax maximum number of records in a batch
 * @param rawBytesMax maximum sum of a batch's sizes, which is the length of its decompressed data, in bytes
 */
public record Limits(long batchBytesMax, long recordsMax, long rawBytesMax) {
    /** The limits of the format. */
    public static final Limits FORMAT = new Limits(0xffff_ffffL, 0xffff_ffffL, 0xffff_ffffL);

    /** The default limits: 32 MiB per batch, 1 Mi records, 64 MiB decompressed. */
    public static final Limits DEFAULT = new Limits(32 << 20, 1 << 20, 64 << 20);

    /**
     * Throws unless a batch can hold a record.
     *
     * @param recordBytes the record's length
     * @throws BatchException {@code batch_limit}: no batch can
     */
    public void checkRecord(int recordBytes) {
        long batchBytes = BatchHeader.batchBytes(1, recordBytes);
        if (batchBytes > Math.min(batchBytesMax, Integer.MAX_VALUE)) {
            throw BatchException.limit("batch_bytes", batchBytes, Math.min(batchBytesMax, Integer.MAX_VALUE));
        }
        if (recordBytes > rawBytesMax) {
            throw BatchException.limit("raw_bytes", recordBytes, rawBytesMax);
        }
    }
}
