/** Subscriptions: they receive the records of many topics as they are stored. */
package io.rawline.subscription;
