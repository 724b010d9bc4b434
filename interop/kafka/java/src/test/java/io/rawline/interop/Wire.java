package io.rawline.interop;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;

/** A connection on which requests of a chosen version are sent, without a client's logic between. */
final class Wire implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;

    private final Socket socket;
    private int correlation;

    Wire(String address) throws IOException {
        int colon = address.lastIndexOf(':');
        socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setSoTimeout(TIMEOUT_MS);
        socket.setTcpNoDelay(true);
    }

    /** The response, of which not a byte is left over. */
    ApiMessage ask(ApiKeys api, short version, ApiMessage request) throws IOException {
        return parse(api, version, exchange(api, version, request));
    }

    ByteBuffer exchange(ApiKeys api, short version, ApiMessage request) throws IOException {
        var header = new RequestHeaderData()
                .setRequestApiKey(api.id)
                .setRequestApiVersion(version)
                .setClientId("interop")
                .setCorrelationId(++correlation);
        // Of a version that this library doesn't know, only the header matters.
        short known = (short) Math.min(version, api.latestVersion());
        var head = MessageUtil.toByteBufferAccessor(header, api.requestHeaderVersion(known))
                .buffer();
        var body = MessageUtil.toByteBufferAccessor(request, known).buffer();
        var frame = ByteBuffer.allocate(4 + head.remaining() + body.remaining());
        frame.putInt(head.remaining() + body.remaining()).put(head).put(body);
        socket.getOutputStream().write(frame.array());
        var in = new DataInputStream(socket.getInputStream());
        var response = new byte[in.readInt()];
        in.readFully(response);
        return ByteBuffer.wrap(response);
    }

    ApiMessage parse(ApiKeys api, short version, ByteBuffer frame) {
        var readable = new ByteBufferAccessor(frame);
        var header = new ResponseHeaderData(readable, api.responseHeaderVersion(version));
        if (header.correlationId() != correlation) {
            throw new AssertionError("response to request " + header.correlationId() + " instead of " + correlation);
        }
        var response = api.messageType.newResponse();
        response.read(readable, version);
        if (frame.hasRemaining()) {
            throw new AssertionError(api + " version " + version + ": " + frame.remaining() + " bytes left over");
        }
        return response;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
