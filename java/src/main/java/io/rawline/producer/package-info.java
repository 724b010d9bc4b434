/** Producers: they append records to a topic, in batches and in order. */
package io.rawline.producer;
