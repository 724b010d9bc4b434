package io.rawline.error;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rawline.batch.BatchException;
import org.junit.jupiter.api.Test;

/** The kind of each error. */
class ErrorKindTest {
    @Test
    void everyStatusHasItsKind() {
        int[] statuses = {400, 404, 408, 413, 429, 500, 502, 503, 504, 507};
        ErrorKind[] kinds = {
            ErrorKind.FIX_REQUEST,
            ErrorKind.FIX_REQUEST,
            ErrorKind.TRY_AGAIN,
            ErrorKind.FIX_REQUEST,
            ErrorKind.WAIT,
            ErrorKind.TELL_HUMAN,
            ErrorKind.TRY_AGAIN,
            ErrorKind.WAIT,
            ErrorKind.TRY_AGAIN,
            ErrorKind.TELL_HUMAN
        };
        for (int i = 0; i < statuses.length; i++) {
            assertEquals(kinds[i], new RefusedException(statuses[i], "c", "m", null).kind());
        }
        assertEquals(ErrorKind.TRY_AGAIN, new BatchException("batch_crc", "m").kind());
        assertEquals(ErrorKind.FIX_REQUEST, new BatchException("batch_magic", "m").kind());
    }
}
