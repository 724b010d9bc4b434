/**
 * Errors, as unchecked exceptions, and how transient ones are retried. Each message says what to do, and
 * {@link io.rawline.error.RawlineException#kind()} tells a program the same.
 */
package io.rawline.error;
