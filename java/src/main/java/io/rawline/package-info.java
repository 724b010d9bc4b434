/** The client of a Rawline broker: its requests, and what makes producers, consumers and subscriptions. */
package io.rawline;
