/* The published message of texts. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;
import java.util.List;

/** The published message of texts. */
@CompiledJson
public final class Strings implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public String string_1;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public String string_2;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public String string_3;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public String string_4;
    @JsonAttribute(index = 5, includeToMinimal = ALWAYS) public String string_5;
    @JsonAttribute(index = 6, includeToMinimal = ALWAYS) public List<String> names;

    @Override
    public long checkField() {
        return Check.of(string_3);
    }

    @Override
    public long checkFields() {
        return Check.of(string_1)
                + Check.of(string_2)
                + Check.of(string_3)
                + Check.of(string_4)
                + Check.of(string_5)
                + Check.of(names);
    }
}
