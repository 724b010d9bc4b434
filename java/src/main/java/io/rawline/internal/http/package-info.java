/** HTTP/1.1 to a broker: connections, TLS, timeouts and the JSON of responses. Internal: not exported by the module. */
package io.rawline.internal.http;
