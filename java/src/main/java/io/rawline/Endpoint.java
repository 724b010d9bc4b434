package io.rawline;

import io.rawline.http.Http;

/**
 * Where an append can be sent.
 *
 * @param url one URL, or those that a client was given
 * @param http the connections there
 * @param responses how what it responds is read
 */
record Endpoint(String url, Http http, Responses responses) {}
