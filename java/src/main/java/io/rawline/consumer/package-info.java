/** Consumers: they read a topic, alone or as a member of a group. */
package io.rawline.consumer;
