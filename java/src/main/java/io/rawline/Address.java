package io.rawline;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;

/**
 * A broker's URL, taken apart.
 *
 * @param url as it was given, for messages
 * @param encrypted whether TLS is spoken
 * @param host a name or an address, without brackets
 * @param port the port
 * @param hostHeader host and port as a request names them
 * @param path what stands before the requests' own paths, without a slash at its end; mostly empty
 */
record Address(String url, boolean encrypted, String host, int port, String hostHeader, String path) {
    static Address parse(String url) {
        String example = "give one such as http://127.0.0.1:51313";
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException error) {
            throw new ConfigException("\"" + url + "\" is not a broker's URL (" + error.getReason() + "); " + example,
                    error);
        }
        boolean encrypted = "https".equalsIgnoreCase(uri.getScheme());
        if (!encrypted && !"http".equalsIgnoreCase(uri.getScheme())) {
            throw new ConfigException("\"" + url + "\" is not a broker's URL; " + example, null);
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw new ConfigException("the broker's URL \"" + url + "\" has a query; leave it out", null);
        }
        if (uri.getRawAuthority() != null && uri.getRawAuthority().contains("@")) {
            throw new ConfigException("the broker's URL has a user in it; give the key as the API key instead", null);
        }
        if (uri.getHost() == null) {
            throw new ConfigException("\"" + url + "\" names no host; " + example, null);
        }
        String host = uri.getHost().startsWith("[") ? uri.getHost().substring(1, uri.getHost().length() - 1)
                : uri.getHost();
        int port = uri.getPort() >= 0 ? uri.getPort() : encrypted ? 443 : 80;
        String path = uri.getRawPath() == null ? "" : uri.getRawPath().replaceAll("/+$", "");
        return new Address(url, encrypted, host, port, uri.getRawAuthority(), path);
    }

    /** A text as a value in a query: everything is escaped but what RFC 3986 never asks to escape. */
    static String queryValue(String text) {
        StringBuilder escaped = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            boolean plain = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '.'
                    || b == '_' || b == '~';
            if (plain) {
                escaped.append((char) b);
            } else {
                escaped.append('%').append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
        }
        return escaped.toString();
    }
}
