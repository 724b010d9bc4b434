/** The client of the Rawline broker: batches, and the producer and consumer that send and read them. */
package io.rawline;
