/* What every case's message has: checks of what was read, so that reads can't be optimized away. */
package io.rawline.lab.message;

/**
 * A case's message as an application would hold it: a plain object with public fields. Fields are named as on the wire;
 * all but the optional ones are always written. lab/java/generate/messages.py generates them.
 */
public interface Message {
    /** A check of the case's one field. */
    long checkField();

    /** The sum of the checks of all fields, read once each. */
    long checkFields();
}
