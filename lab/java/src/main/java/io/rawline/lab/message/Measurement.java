/* One value of a metric, with its tags. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;
import java.util.Map;

/** One value of a metric, with its tags. */
@CompiledJson
public final class Measurement implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public String metric;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public Map<String, String> tags;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public long logtime;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public long value;

    @Override
    public long checkField() {
        return Check.of(metric);
    }

    @Override
    public long checkFields() {
        return Check.of(metric)
                + Check.of(tags)
                + logtime
                + value;
    }
}
