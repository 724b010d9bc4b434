/* The published ping: a few numbers, a text and three lists. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;
import java.util.List;

/** The published ping: a few numbers, a text and three lists. */
@CompiledJson
public final class PingPong implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public long id;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public int version;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public String message;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public boolean is_important;
    @JsonAttribute(index = 5, includeToMinimal = ALWAYS) public List<String> names;
    @JsonAttribute(index = 6, includeToMinimal = ALWAYS) public int[] ints;
    @JsonAttribute(index = 7, includeToMinimal = ALWAYS) public double[] doubles;

    @Override
    public long checkField() {
        return Check.of(message);
    }

    @Override
    public long checkFields() {
        return id
                + version
                + Check.of(message)
                + Check.of(is_important)
                + Check.of(names)
                + Check.of(ints)
                + Check.of(doubles);
    }
}
