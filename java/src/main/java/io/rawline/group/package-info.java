/** Descriptions of groups of consumers. */
package io.rawline.group;
