/** Requests about groups of consumers. Internal: not exported by the module. */
package io.rawline.internal.group;
