package io.rawline.http;

import io.rawline.error.AnswerException;
import io.rawline.error.ConfigException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.TlsException;
import io.rawline.error.UnreachableException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/** The connections to one broker: sends a request, hands out the answer. */
public final class Http {
    /** Longest answer that is not batches, in bytes: what a broker says of some 100,000 topics. */
    private static final int TEXT_BYTES_MAX = 32 << 20;
    /** Longest error that is read, in bytes. */
    private static final int REFUSAL_BYTES_MAX = 64 << 10;

    private static final int TEXT_PIECE_BYTES = 8 << 10;

    private final HttpConfig config;
    private final Address address;
    /** A header line, or nothing. */
    private final String authorization;
    /** Null where the bytes go in the clear. */
    private final SSLContext sslContext;

    private final ScheduledThreadPoolExecutor timers;
    private final Pool pool;

    public Http(HttpConfig config) {
        this.config = config;
        this.address = Address.parse(config.broker());
        this.authorization = authorization(config.apiKey());
        this.sslContext = address.encrypted() ? sslContext(config.sslContext()) : null;
        timers = new ScheduledThreadPoolExecutor(1, Daemons.factory("rawline-timer"));
        timers.setRemoveOnCancelPolicy(true);
        // So that a client that is forgotten leaves no thread behind.
        timers.setKeepAliveTime(10, TimeUnit.SECONDS);
        timers.allowCoreThreadTimeOut(true);
        pool = new Pool(config.connectionsIdleMax(), timers);
    }

    private static String authorization(String key) {
        if (key == null) {
            return "";
        }
        if (!key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw new ConfigException("the API key has characters that a header can't carry", null);
        }
        return "authorization: Bearer " + key + "\r\n";
    }

    private static SSLContext sslContext(SSLContext given) {
        try {
            return given != null ? given : SSLContext.getDefault();
        } catch (NoSuchAlgorithmException error) {
            throw new ConfigException(
                    "Java can't read whom it trusts (" + error.getMessage() + "); check javax.net.ssl.trustStore",
                    error);
        }
    }

    /** What is done with an answer whose status is no error; the connection is kept if it reads the body to its end. */
    public interface Reader<T> {
        T read(Exchange exchange) throws IOException;
    }

    /**
     * Sends a request once; an answer with an error's status is that error. It may last {@code wait} longer than
     * usual.
     */
    public <T> T send(Call call, Request request, Duration wait, Reader<T> reader) {
        call.begin(Math.min(Nanos.of(config.requestTimeout()) + Nanos.of(wait), Nanos.MAX), timers);
        try {
            Exchange exchange = open(call, request);
            try {
                if (exchange.status() >= 300) {
                    if (!request.isGet()) {
                        // A part of what was refused may be unsent.
                        exchange.endConnection();
                    }
                    throw refused(exchange);
                }
                return reader.read(exchange);
            } catch (IOException error) {
                throw broken(call, error);
            } finally {
                keep(call, exchange);
            }
        } finally {
            call.end();
        }
    }

    /** As {@link #send}, for an answer that is a short text. */
    public byte[] text(Call call, Request request) {
        return send(call, request, Duration.ZERO, exchange -> {
            byte[] text = text(exchange, TEXT_BYTES_MAX);
            if (text == null) {
                throw notABrokers("more than " + TEXT_BYTES_MAX + " bytes", null);
            }
            return text;
        });
    }

    public RawlineException notABrokers(String reason, Throwable cause) {
        return new AnswerException(
                address.url() + " gave an answer that is not a broker's (" + reason
                        + "); is another program listening there?",
                cause);
    }

    /** Keeps no connection from now on. */
    public void close() {
        pool.close();
    }

    /**
     * Sends a request and reads the head of the answer. A connection that the broker had closed meanwhile is replaced
     * without a word as long as nothing can have come of what was sent on it.
     */
    private Exchange open(Call call, Request request) {
        if (Thread.currentThread().isInterrupted()) {
            // Whatever connection it touched would be closed.
            throw Call.interrupted(null);
        }
        while (true) {
            Connection connection = pool.take();
            boolean fresh = connection == null;
            if (fresh) {
                connection = connect(call);
            } else if (!call.use(connection)) {
                throw broken(call, null);
            }
            try {
                return exchange(connection, request);
            } catch (Exchange.NotHttpException error) {
                forget(call, connection);
                throw notABrokers(error.getMessage(), error);
            } catch (IOException error) {
                boolean live = forget(call, connection);
                if (fresh || !live || !request.isGet()) {
                    throw broken(call, error);
                }
            }
        }
    }

    private Exchange exchange(Connection connection, Request request) throws IOException {
        try {
            connection.send(request.bytes(address, authorization));
        } catch (IOException error) {
            // A broker that refuses may close before it has read the rest; what it said may be there nevertheless.
            try {
                return new Exchange(connection);
            } catch (IOException nothing) {
                throw error;
            }
        }
        return new Exchange(connection);
    }

    private Connection connect(Call call) {
        try {
            return Connection.open(address, sslContext, config.connectTimeout(), call);
        } catch (SSLException error) {
            throw call.explain(
                    error,
                    address,
                    new TlsException(
                            "no TLS with " + address.url() + " ("
                                    + error.getMessage()
                                    + "); check its certificate, and let Java trust who signed it: by `keytool"
                                    + " -importcert`, javax.net.ssl.trustStore, or the client's sslContext",
                            error));
        } catch (IOException error) {
            String reason = error instanceof UnknownHostException
                    ? "the name \"" + address.host() + "\" is not known"
                    : String.valueOf(error.getMessage());
            throw call.explain(
                    error,
                    address,
                    new UnreachableException(
                            "can't connect to " + address.url() + " (" + reason
                                    + "); is the broker running there? start it with `rawline serve`",
                            error));
        }
    }

    private boolean forget(Call call, Connection connection) {
        boolean live = call.release();
        connection.close();
        return live;
    }

    private void keep(Call call, Exchange exchange) {
        if (!call.release()) {
            return;
        }
        if (exchange.canGoOn()) {
            pool.give(exchange.connection());
        } else {
            exchange.connection().close();
        }
    }

    private RawlineException broken(Call call, IOException error) {
        if (error instanceof Exchange.NotHttpException) {
            return notABrokers(error.getMessage(), error);
        }
        String reason = error == null ? "it was closed" : String.valueOf(error.getMessage());
        return call.explain(
                error,
                address,
                new ConnectionBrokenException(
                        "the connection to " + address.url() + " broke (" + reason
                                + "); see whether the broker is still running, then try again",
                        error));
    }

    /** The whole body, or null if it is longer than so many bytes. */
    private static byte[] text(Exchange exchange, int bytesMax) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        ByteBuffer piece = ByteBuffer.allocate(TEXT_PIECE_BYTES);
        while (exchange.read(piece.clear()) >= 0) {
            text.write(piece.array(), 0, piece.position());
            if (text.size() > bytesMax) {
                return null;
            }
        }
        return text.toByteArray();
    }

    /** The error that an answer is, or what can be said without a broker's words. */
    private static RawlineException refused(Exchange exchange) {
        byte[] text = null;
        try {
            text = text(exchange, REFUSAL_BYTES_MAX);
        } catch (IOException error) {
            // A broker that refuses may close before its words are read: the status alone is an answer.
        }
        String words = text == null ? "" : new String(text, StandardCharsets.UTF_8);
        Duration retryAfter = retryAfter(exchange.header("retry-after"));
        if (Json.parseOrNull(words) instanceof Map<?, ?> refusal
                && refusal.get("code") instanceof String code
                && refusal.get("error") instanceof String sentence) {
            return new RefusedException(exchange.status(), code, sentence, retryAfter);
        }
        String type = exchange.header("content-type");
        boolean plain = type == null || type.startsWith("text/plain");
        String status = "status " + exchange.status();
        String sentence = plain && !words.isBlank() && words.length() <= 500 ? words.strip() : status;
        return new RefusedException(exchange.status(), status.replace(' ', '_'), sentence, retryAfter);
    }

    private static Duration retryAfter(String seconds) {
        try {
            return seconds == null ? null : Duration.ofSeconds(Math.max(0, Long.parseLong(seconds.trim())));
        } catch (NumberFormatException error) {
            return null;
        }
    }
}
