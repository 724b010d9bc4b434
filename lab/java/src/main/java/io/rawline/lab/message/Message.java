/* What every case's message can do: say what was read of it, so that no read can be optimised away. */
package io.rawline.lab.message;

/**
 * A case's message as an application would hold it: a plain object with public fields. Fields are named as on the wire, so that no library has to be
 * told names; all but the optional ones are always written. The indexes are for DSL-JSON, which else writes fields by the alphabet.
 */
public interface Message {
    /** A check of the case's one field. */
    long checkField();

    /** The sum of the checks of all fields, read once each. */
    long checkFields();
}
