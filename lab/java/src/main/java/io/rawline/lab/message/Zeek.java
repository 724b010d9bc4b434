/* One DNS event of a network monitor. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;
import java.util.List;

/** One DNS event of a network monitor. */
@CompiledJson
public final class Zeek implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public long ts;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public String uid;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public String orig_h;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public int orig_p;
    @JsonAttribute(index = 5, includeToMinimal = ALWAYS) public String resp_h;
    @JsonAttribute(index = 6, includeToMinimal = ALWAYS) public int resp_p;
    @JsonAttribute(index = 7, includeToMinimal = ALWAYS) public String proto;
    @JsonAttribute(index = 8, includeToMinimal = ALWAYS) public int trans_id;
    /** Absent: null. */
    @JsonAttribute(index = 9) public Double rtt;
    @JsonAttribute(index = 10, includeToMinimal = ALWAYS) public String query;
    @JsonAttribute(index = 11, includeToMinimal = ALWAYS) public int qclass;
    @JsonAttribute(index = 12, includeToMinimal = ALWAYS) public String qclass_name;
    @JsonAttribute(index = 13, includeToMinimal = ALWAYS) public int qtype;
    @JsonAttribute(index = 14, includeToMinimal = ALWAYS) public String qtype_name;
    @JsonAttribute(index = 15, includeToMinimal = ALWAYS) public int rcode;
    @JsonAttribute(index = 16, includeToMinimal = ALWAYS) public String rcode_name;
    @JsonAttribute(index = 17, includeToMinimal = ALWAYS) public boolean aa;
    @JsonAttribute(index = 18, includeToMinimal = ALWAYS) public boolean tc;
    @JsonAttribute(index = 19, includeToMinimal = ALWAYS) public boolean rd;
    @JsonAttribute(index = 20, includeToMinimal = ALWAYS) public boolean ra;
    @JsonAttribute(index = 21, includeToMinimal = ALWAYS) public int z;
    @JsonAttribute(index = 22, includeToMinimal = ALWAYS) public List<String> answers;
    @JsonAttribute(index = 23, includeToMinimal = ALWAYS) public double[] ttls;
    @JsonAttribute(index = 24, includeToMinimal = ALWAYS) public boolean rejected;

    @Override
    public long checkField() {
        return Check.of(query);
    }

    @Override
    public long checkFields() {
        return ts
                + Check.of(uid)
                + Check.of(orig_h)
                + orig_p
                + Check.of(resp_h)
                + resp_p
                + Check.of(proto)
                + trans_id
                + Check.of(rtt)
                + Check.of(query)
                + qclass
                + Check.of(qclass_name)
                + qtype
                + Check.of(qtype_name)
                + rcode
                + Check.of(rcode_name)
                + Check.of(aa)
                + Check.of(tc)
                + Check.of(rd)
                + Check.of(ra)
                + z
                + Check.of(answers)
                + Check.of(ttls)
                + Check.of(rejected);
    }
}
