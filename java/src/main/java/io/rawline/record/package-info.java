/** Records as they are read: where a read starts, its range, and its result. */
package io.rawline.record;
