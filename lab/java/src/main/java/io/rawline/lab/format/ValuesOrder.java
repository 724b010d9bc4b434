/* The order as a Rawline value: tables, or lists, inside each other. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Order;
import io.rawline.value.Field;
import io.rawline.value.Fields;
import io.rawline.value.Step;
import io.rawline.value.ValueView;
import java.util.ArrayList;
import java.util.List;

final class ValuesOrder extends Values.Form<Order> {
    private static final Field ID = Field.of("id");
    private static final Field PLACED_AT = Field.of("placed_at");
    private static final Field CURRENCY = Field.of("currency");
    private static final Field CUSTOMER = Field.of("customer");
    private static final Field SHIPPING = Field.of("shipping");
    private static final Field LINES = Field.of("lines");
    private static final Field NOTE = Field.of("note");
    private static final Field TOTAL_CENTS = Field.of("total_cents");
    private static final Fields FIELDS = Fields.of("id", "placed_at", "currency", "customer", "shipping", "lines", "note", "total_cents");

    ValuesOrder(boolean table) {
        super(table, table ? new Step[] {CUSTOMER, CUSTOMER_NAME} : new Step[] {Step.at(3), Step.at(1)});
    }

    @Override
    void write(Order m) {
        begin();
        key(ID).addInteger(m.id);
        key(PLACED_AT).addInteger(m.placed_at);
        key(CURRENCY).add(m.currency);
        key(CUSTOMER);
        write(m.customer);
        if (m.shipping == null) {
            absent();
        } else {
            key(SHIPPING);
            write(m.shipping);
        }
        key(LINES);
        out.beginList();
        for (Order.Line element : m.lines) {
            write(element);
        }
        out.end();
        if (m.note == null) {
            absent();
        } else {
            key(NOTE).add(m.note);
        }
        key(TOTAL_CENTS).addInteger(m.total_cents);
        out.end();
    }

    @Override
    Order read() {
        Order m = new Order();
        for (int i = 0, count = count(); i < count; i++) {
            switch (place(FIELDS, i)) {
                case 0 -> m.id = whole();
                case 1 -> m.placed_at = whole();
                case 2 -> m.currency = in.string();
                case 3 -> m.customer = readCustomer();
                case 4 -> m.shipping = in.isNone() ? null : readShipping();
                case 5 -> m.lines = readLines();
                case 6 -> m.note = in.isNone() ? null : in.string();
                case 7 -> m.total_cents = whole();
                default -> in.skip();
            }
        }
        return m;
    }

    @Override
    long check(ValueView v) {
        return whole(at(v, ID, 0))
                + whole(at(v, PLACED_AT, 1))
                + checkText(at(v, CURRENCY, 2))
                + checkCustomer(at(v, CUSTOMER, 3))
                + checkShipping(at(v, SHIPPING, 4))
                + checkLines(at(v, LINES, 5))
                + checkText(at(v, NOTE, 6))
                + whole(at(v, TOTAL_CENTS, 7));
    }

    private static final Field CUSTOMER_ID = Field.of("id");
    private static final Field CUSTOMER_NAME = Field.of("name");
    private static final Field CUSTOMER_EMAIL = Field.of("email");
    private static final Fields CUSTOMER_FIELDS = Fields.of("id", "name", "email");

    private void write(Order.Customer m) {
        begin();
        key(CUSTOMER_ID).addInteger(m.id);
        key(CUSTOMER_NAME).add(m.name);
        if (m.email == null) {
            absent();
        } else {
            key(CUSTOMER_EMAIL).add(m.email);
        }
        out.end();
    }

    private Order.Customer readCustomer() {
        Order.Customer m = new Order.Customer();
        for (int i = 0, count = count(); i < count; i++) {
            switch (place(CUSTOMER_FIELDS, i)) {
                case 0 -> m.id = whole();
                case 1 -> m.name = in.string();
                case 2 -> m.email = in.isNone() ? null : in.string();
                default -> in.skip();
            }
        }
        return m;
    }

    private long checkCustomer(ValueView v) {
        return whole(at(v, CUSTOMER_ID, 0))
                + checkText(at(v, CUSTOMER_NAME, 1))
                + checkText(at(v, CUSTOMER_EMAIL, 2));
    }

    private static final Field SHIPPING_STREET = Field.of("street");
    private static final Field SHIPPING_CITY = Field.of("city");
    private static final Field SHIPPING_POSTCODE = Field.of("postcode");
    private static final Field SHIPPING_COUNTRY = Field.of("country");
    private static final Fields SHIPPING_FIELDS = Fields.of("street", "city", "postcode", "country");

    private void write(Order.Shipping m) {
        begin();
        key(SHIPPING_STREET).add(m.street);
        key(SHIPPING_CITY).add(m.city);
        key(SHIPPING_POSTCODE).add(m.postcode);
        key(SHIPPING_COUNTRY).add(m.country);
        out.end();
    }

    private Order.Shipping readShipping() {
        Order.Shipping m = new Order.Shipping();
        for (int i = 0, count = count(); i < count; i++) {
            switch (place(SHIPPING_FIELDS, i)) {
                case 0 -> m.street = in.string();
                case 1 -> m.city = in.string();
                case 2 -> m.postcode = in.string();
                case 3 -> m.country = in.string();
                default -> in.skip();
            }
        }
        return m;
    }

    private long checkShipping(ValueView v) {
        if (!isThere(v)) {
            return 0;
        }
        return checkText(at(v, SHIPPING_STREET, 0))
                + checkText(at(v, SHIPPING_CITY, 1))
                + checkText(at(v, SHIPPING_POSTCODE, 2))
                + checkText(at(v, SHIPPING_COUNTRY, 3));
    }

    private static final Field LINE_SKU = Field.of("sku");
    private static final Field LINE_DESCRIPTION = Field.of("description");
    private static final Field LINE_QUANTITY = Field.of("quantity");
    private static final Field LINE_UNIT_PRICE_CENTS = Field.of("unit_price_cents");
    private static final Field LINE_DISCOUNT = Field.of("discount");
    private static final Fields LINE_FIELDS = Fields.of("sku", "description", "quantity", "unit_price_cents", "discount");

    private void write(Order.Line m) {
        begin();
        key(LINE_SKU).add(m.sku);
        if (m.description == null) {
            absent();
        } else {
            key(LINE_DESCRIPTION).add(m.description);
        }
        key(LINE_QUANTITY).addInteger(m.quantity);
        key(LINE_UNIT_PRICE_CENTS).addInteger(m.unit_price_cents);
        if (m.discount == null) {
            absent();
        } else {
            key(LINE_DISCOUNT).add(m.discount);
        }
        out.end();
    }

    private Order.Line readLine() {
        Order.Line m = new Order.Line();
        for (int i = 0, count = count(); i < count; i++) {
            switch (place(LINE_FIELDS, i)) {
                case 0 -> m.sku = in.string();
                case 1 -> m.description = in.isNone() ? null : in.string();
                case 2 -> m.quantity = (int) whole();
                case 3 -> m.unit_price_cents = whole();
                case 4 -> m.discount = in.isNone() ? null : (Double) in.real();
                default -> in.skip();
            }
        }
        return m;
    }

    private long checkLine(ValueView v) {
        return checkText(at(v, LINE_SKU, 0))
                + checkText(at(v, LINE_DESCRIPTION, 1))
                + whole(at(v, LINE_QUANTITY, 2))
                + whole(at(v, LINE_UNIT_PRICE_CENTS, 3))
                + checkReal(at(v, LINE_DISCOUNT, 4));
    }

    private List<Order.Line> readLines() {
        int size = in.list();
        List<Order.Line> lines = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            lines.add(readLine());
        }
        return lines;
    }

    private long checkLines(ValueView lines) {
        long check = 0;
        for (int i = 0, size = lines.size(); i < size; i++) {
            check += checkLine(lines.get(i));
        }
        return check;
    }
}
