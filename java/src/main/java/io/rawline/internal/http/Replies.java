package io.rawline.internal.http;

import io.rawline.internal.http.ResponseParser.NotHttpException;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.nio.ByteBuffer;

/** Splits received bytes into complete short responses, however they are split into pieces. No I/O. */
final class Replies {
    /** Maximum size of a body, in bytes: an append's has a few dozen, an error's message some hundred. */
    static final int BODY_BYTES_MAX = 64 << 10;

    private ResponseParser response = new ResponseParser();
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();

    /**
     * A whole response.
     *
     * @param head its status and headers
     * @param body what follows them
     */
    record Reply(ResponseParser head, byte[] body) {}

    /** Consumes the next response; null if its end was not received, and then everything is consumed. */
    Reply next(ByteBuffer received) throws NotHttpException {
        response.advance(received);
        while (response.bodyBytes() > 0 && received.hasRemaining()) {
            take(received, (int) Math.min(response.bodyBytes(), received.remaining()));
            response.advance(received);
        }
        return response.hasEnded() ? reply() : null;
    }

    /** The response that ends with the connection; null if none has begun. */
    Reply end() throws EOFException {
        if (!response.hasBegun()) {
            return null;
        }
        response.endOfStream();
        return reply();
    }

    private void take(ByteBuffer received, int bytes) throws NotHttpException {
        if (body.size() + bytes > BODY_BYTES_MAX) {
            throw new NotHttpException("more than " + BODY_BYTES_MAX + " bytes");
        }
        byte[] piece = new byte[bytes];
        received.get(piece);
        body.write(piece, 0, bytes);
        response.consumed(bytes);
    }

    private Reply reply() {
        Reply reply = new Reply(response, body.toByteArray());
        response = new ResponseParser();
        body.reset();
        return reply;
    }
}
