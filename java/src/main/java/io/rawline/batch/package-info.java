/** The bytes of a batch: build, check and read them. No I/O, no threads, no clock. */
package io.rawline.batch;
