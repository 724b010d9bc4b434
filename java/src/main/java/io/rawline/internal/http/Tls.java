package io.rawline.internal.http;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** TLS over a connected socket. */
final class Tls {
    /** Maximum size of a TLS record, in bytes. */
    private static final int PIECE_BYTES = 16 << 10;

    private final InputStream in;
    private final OutputStream out;
    /** One for each direction, since one thread may send while another reads. */
    private final byte[] received = new byte[PIECE_BYTES];

    private final byte[] piece = new byte[PIECE_BYTES];

    /**
     * Does the handshake, and verifies that the certificate is trusted and names the host.
     *
     * @throws SSLException the peer isn't trusted, or doesn't speak TLS
     */
    Tls(SSLContext context, Socket socket, Address address, int timeoutMs) throws IOException {
        SSLSocket layered =
                (SSLSocket) context.getSocketFactory().createSocket(socket, address.host(), address.port(), true);
        SSLParameters parameters = layered.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        layered.setSSLParameters(parameters);
        socket.setSoTimeout(timeoutMs);
        try {
            layered.startHandshake();
        } catch (SSLException error) {
            throw isTransport(error) ? new IOException(error.getMessage(), error) : error;
        }
        socket.setSoTimeout(0);
        in = layered.getInputStream();
        out = layered.getOutputStream();
    }

    /** Whether the connection failed, and not the handshake on it. */
    private static boolean isTransport(SSLException error) {
        Throwable cause = error.getCause();
        return cause instanceof EOFException
                || cause instanceof SocketException
                || cause instanceof ClosedChannelException;
    }

    int read(ByteBuffer to) throws IOException {
        int read = in.read(received, 0, Math.min(received.length, to.remaining()));
        if (read > 0) {
            to.put(received, 0, read);
        }
        return read;
    }

    /** Sends the buffers in order, short ones together in one TLS record. */
    void send(ByteBuffer[] buffers) throws IOException {
        int filled = 0;
        for (ByteBuffer buffer : buffers) {
            while (buffer.hasRemaining()) {
                int count = Math.min(buffer.remaining(), piece.length - filled);
                buffer.get(piece, filled, count);
                filled += count;
                if (filled == piece.length) {
                    out.write(piece, 0, filled);
                    filled = 0;
                }
            }
        }
        if (filled > 0) {
            out.write(piece, 0, filled);
        }
        out.flush();
    }
}
