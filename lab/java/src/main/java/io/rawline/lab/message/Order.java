/* An order: nested records, several of them optional. */
package io.rawline.lab.message;

import static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS;

import com.dslplatform.json.CompiledJson;
import com.dslplatform.json.JsonAttribute;
import java.io.Serializable;
import java.util.List;

/** An order: nested records, several of them optional. */
@CompiledJson
public final class Order implements Message, Serializable {
    private static final long serialVersionUID = 1;

    @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public long id;
    @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public long placed_at;
    @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public String currency;
    @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public Customer customer;
    /** Absent: null. */
    @JsonAttribute(index = 5) public Shipping shipping;
    @JsonAttribute(index = 6, includeToMinimal = ALWAYS) public List<Line> lines;
    /** Absent: null. */
    @JsonAttribute(index = 7) public String note;
    @JsonAttribute(index = 8, includeToMinimal = ALWAYS) public long total_cents;

    @Override
    public long checkField() {
        return Check.of(customer.name);
    }

    @Override
    public long checkFields() {
        return id
                + placed_at
                + Check.of(currency)
                + customer.checkFields()
                + (shipping == null ? 0 : shipping.checkFields())
                + checkLines()
                + Check.of(note)
                + total_cents;
    }

    private long checkLines() {
        long check = 0;
        for (Line line : lines) {
            check += line.checkFields();
        }
        return check;
    }

    /** Who ordered. */
    @CompiledJson
    public static final class Customer implements Serializable {
        private static final long serialVersionUID = 1;

        @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public long id;
        @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public String name;
        /** Absent: null. */
        @JsonAttribute(index = 3) public String email;

        long checkFields() {
            return id
                    + Check.of(name)
                    + Check.of(email);
        }
    }

    /** Where to, if not to the customer. */
    @CompiledJson
    public static final class Shipping implements Serializable {
        private static final long serialVersionUID = 1;

        @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public String street;
        @JsonAttribute(index = 2, includeToMinimal = ALWAYS) public String city;
        @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public String postcode;
        @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public String country;

        long checkFields() {
            return Check.of(street)
                    + Check.of(city)
                    + Check.of(postcode)
                    + Check.of(country);
        }
    }

    /** One thing ordered. */
    @CompiledJson
    public static final class Line implements Serializable {
        private static final long serialVersionUID = 1;

        @JsonAttribute(index = 1, includeToMinimal = ALWAYS) public String sku;
        /** Absent: null. */
        @JsonAttribute(index = 2) public String description;
        @JsonAttribute(index = 3, includeToMinimal = ALWAYS) public int quantity;
        @JsonAttribute(index = 4, includeToMinimal = ALWAYS) public long unit_price_cents;
        /** Absent: null. */
        @JsonAttribute(index = 5) public Double discount;

        long checkFields() {
            return Check.of(sku)
                    + Check.of(description)
                    + quantity
                    + unit_price_cents
                    + Check.of(discount);
        }
    }
}
