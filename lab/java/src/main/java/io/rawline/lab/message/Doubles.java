/* The published message of floating-point numbers. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;

/** The published message of floating-point numbers. */
@CompiledJson
public final class Doubles implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public double single_1;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public double single_2;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public double single_3;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public double single_4;
    @JsonAttribute(index = 5, includeToMinimal = ALWAYS) public double single_5;
    @JsonAttribute(index = 6, includeToMinimal = ALWAYS) public double[] list;

    @Override
    public long checkField() {
        return Check.of(single_3);
    }

    @Override
    public long checkFields() {
        return Check.of(single_1)
                + Check.of(single_2)
                + Check.of(single_3)
                + Check.of(single_4)
                + Check.of(single_5)
                + Check.of(list);
    }
}
