package io.rawline.internal.http;

import java.time.Duration;
import javax.net.ssl.SSLContext;

/**
 * How to reach a broker.
 *
 * @param broker the broker's URL, or those of several, separated by commas
 * @param apiKey the key that the broker requires; null for none
 * @param zone the zone that the client runs in; null for none
 * @param connectTimeout maximum time to establish a connection
 * @param requestTimeout maximum time from a request's first byte to the response's last
 * @param connectionsIdleMax maximum number of idle connections that are kept open
 * @param sslContext trusted certificates; null for {@link SSLContext#getDefault}
 */
public record HttpConfig(
        String broker,
        String apiKey,
        String zone,
        Duration connectTimeout,
        Duration requestTimeout,
        int connectionsIdleMax,
        SSLContext sslContext) {}
