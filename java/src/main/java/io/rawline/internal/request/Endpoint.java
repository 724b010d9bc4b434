package io.rawline.internal.request;

import io.rawline.internal.http.Http;

/**
 * A target of appends.
 *
 * @param url one URL, or those that a client was given
 * @param http the connections there
 * @param responses the reader of its responses
 */
public record Endpoint(String url, Http http, Responses responses) {}
