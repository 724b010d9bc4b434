/** Checks of settings and arguments, and durations in nanoseconds. Internal: not exported by the module. */
package io.rawline.internal.setting;
