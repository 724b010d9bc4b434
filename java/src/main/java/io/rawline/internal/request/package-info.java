/**
 * Requests to a broker: retries, the broker that an append goes to, and results. Internal: not exported by the module.
 */
package io.rawline.internal.request;
