/** The client of a Rawline broker: requests, a producer and a consumer. */
package io.rawline;
