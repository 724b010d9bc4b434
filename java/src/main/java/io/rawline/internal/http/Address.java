package io.rawline.internal.http;

import io.rawline.error.ConfigException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A broker's URL, parsed.
 *
 * @param url as given, for messages
 * @param encrypted whether the connection uses TLS
 * @param host a name or an address, without brackets
 * @param port the port
 * @param hostHeader value of the {@code Host} header
 * @param path prefix of the requests' paths, without a trailing slash; empty unless a proxy adds one
 */
public record Address(String url, boolean encrypted, String host, int port, String hostHeader, String path) {
    private static final Pattern NAME_AND_PORT = Pattern.compile("([A-Za-z0-9._-]+)(?::([0-9]{1,5})?)?");

    static Address parse(String url) {
        String example = "use one like http://127.0.0.1:51313";
        URI uri;
        try {
            uri = new URI(new URI(url).toASCIIString());
        } catch (URISyntaxException error) {
            throw new ConfigException(
                    "\"" + url + "\" is not a broker's URL (" + error.getReason() + "); " + example, error);
        }
        boolean encrypted = "https".equalsIgnoreCase(uri.getScheme());
        if (!encrypted && !"http".equalsIgnoreCase(uri.getScheme())) {
            throw new ConfigException("\"" + url + "\" is not a broker's URL; " + example, null);
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw new ConfigException("the broker's URL \"" + url + "\" has a query or a fragment; remove it", null);
        }
        if (uri.getRawAuthority() != null && uri.getRawAuthority().contains("@")) {
            throw new ConfigException(
                    "the broker's URL contains a user name; pass the key as the API key instead", null);
        }
        // java.net.URI rejects host names with an underscore, which containers often have.
        Matcher named = NAME_AND_PORT.matcher(String.valueOf(uri.getRawAuthority()));
        String host = uri.getHost();
        int port = uri.getPort();
        if (host == null && uri.getRawAuthority() != null && named.matches()) {
            host = named.group(1);
            port = named.group(2) == null ? -1 : Integer.parseInt(named.group(2));
        }
        if (host == null) {
            throw new ConfigException("\"" + url + "\" has no host; " + example, null);
        }
        if (port == 0 || port > 65_535) {
            throw new ConfigException("\"" + url + "\" has no port from 1 to 65535; " + example, null);
        }
        if (port < 0) {
            port = encrypted ? 443 : 80;
        }
        host = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        String path = uri.getRawPath() == null ? "" : uri.getRawPath().replaceAll("/+$", "");
        return new Address(url, encrypted, host, port, uri.getRawAuthority(), path);
    }

    /** Whether both lead to the same place, however they are written. */
    boolean isSame(Address other) {
        return encrypted == other.encrypted
                && host.equalsIgnoreCase(other.host)
                && port == other.port
                && path.equals(other.path);
    }

    /** Percent-encodes a value for a query: everything except the unreserved characters of RFC 3986. */
    public static String queryValue(String text) {
        StringBuilder escaped = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            boolean plain = b >= 'a' && b <= 'z'
                    || b >= 'A' && b <= 'Z'
                    || b >= '0' && b <= '9'
                    || b == '-'
                    || b == '.'
                    || b == '_'
                    || b == '~';
            if (plain) {
                escaped.append((char) b);
            } else {
                escaped.append('%').append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
        }
        return escaped.toString();
    }
}
