/** Topics: their descriptions, their settings, and offsets in their partitions. */
package io.rawline.topic;
