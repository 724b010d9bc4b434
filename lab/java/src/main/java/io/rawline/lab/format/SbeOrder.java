/* The order in SBE: what is nested and optional is a group of none or one. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Order;
import io.rawline.lab.sbe.OrderDecoder;
import io.rawline.lab.sbe.OrderEncoder;
import java.util.ArrayList;

final class SbeOrder extends Sbe.Flyweights<Order> {
    private final OrderEncoder encoder = new OrderEncoder();
    private final OrderDecoder decoder = new OrderDecoder();

    @Override
    public Object encode(Order m) {
        encoder.wrapAndApplyHeader(out, 0, headerEncoder).id(m.id).placedAt(m.placed_at).customerId(m.customer.id).totalCents(m.total_cents);
        OrderEncoder.ShippingEncoder shipping = encoder.shippingCount(m.shipping == null ? 0 : 1);
        if (m.shipping != null) {
            shipping.next().street(m.shipping.street).city(m.shipping.city).postcode(m.shipping.postcode).country(m.shipping.country);
        }
        OrderEncoder.LinesEncoder lines = encoder.linesCount(m.lines.size());
        for (Order.Line line : m.lines) {
            lines.next().unitPriceCents(line.unit_price_cents)
                    .discount(line.discount == null ? OrderEncoder.LinesEncoder.discountNullValue() : line.discount).quantity(line.quantity)
                    .sku(line.sku)
                    .description(orEmpty(line.description));
        }
        encoder.customerName(m.customer.name).customerEmail(orEmpty(m.customer.email)).currency(m.currency).note(orEmpty(m.note));
        return written(encoder.limit());
    }

    private OrderDecoder open(byte[] bytes) {
        in.wrap(bytes);
        return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
    }

    @Override
    public Order decode(byte[] bytes) {
        OrderDecoder d = open(bytes);
        Order m = new Order();
        m.id = d.id();
        m.placed_at = d.placedAt();
        m.customer = new Order.Customer();
        m.customer.id = d.customerId();
        m.total_cents = d.totalCents();
        for (OrderDecoder.ShippingDecoder shipping : d.shipping()) {
            m.shipping = new Order.Shipping();
            m.shipping.street = shipping.street();
            m.shipping.city = shipping.city();
            m.shipping.postcode = shipping.postcode();
            m.shipping.country = shipping.country();
        }
        OrderDecoder.LinesDecoder lines = d.lines();
        m.lines = new ArrayList<>(lines.count());
        while (lines.hasNext()) {
            lines.next();
            Order.Line line = new Order.Line();
            line.unit_price_cents = lines.unitPriceCents();
            double discount = lines.discount();
            line.discount = Double.isNaN(discount) ? null : discount;
            line.quantity = lines.quantity();
            line.sku = lines.sku();
            line.description = orAbsent(lines.description());
            m.lines.add(line);
        }
        m.customer.name = d.customerName();
        m.customer.email = orAbsent(d.customerEmail());
        m.currency = d.currency();
        m.note = orAbsent(d.note());
        return m;
    }

    @Override
    public long field(byte[] bytes) {
        OrderDecoder d = open(bytes);
        OrderDecoder.ShippingDecoder shipping = d.shipping();
        while (shipping.hasNext()) {
            shipping.next().skipStreet();
            shipping.skipCity();
            shipping.skipPostcode();
            shipping.skipCountry();
        }
        OrderDecoder.LinesDecoder lines = d.lines();
        while (lines.hasNext()) {
            lines.next().skipSku();
            lines.skipDescription();
        }
        d.wrapCustomerName(view);
        return checkView();
    }

    @Override
    public long fields(byte[] bytes) {
        OrderDecoder d = open(bytes);
        long check = d.id() + d.placedAt() + d.customerId() + d.totalCents();
        OrderDecoder.ShippingDecoder shipping = d.shipping();
        while (shipping.hasNext()) {
            shipping.next().wrapStreet(view);
            check += checkView();
            shipping.wrapCity(view);
            check += checkView();
            shipping.wrapPostcode(view);
            check += checkView();
            shipping.wrapCountry(view);
            check += checkView();
        }
        OrderDecoder.LinesDecoder lines = d.lines();
        while (lines.hasNext()) {
            lines.next();
            double discount = lines.discount();
            check += lines.unitPriceCents() + lines.quantity() + (Double.isNaN(discount) ? 0 : Check.of(discount));
            lines.wrapSku(view);
            check += checkView();
            lines.wrapDescription(view);
            check += checkView();
        }
        d.wrapCustomerName(view);
        check += checkView();
        d.wrapCustomerEmail(view);
        check += checkView();
        d.wrapCurrency(view);
        check += checkView();
        d.wrapNote(view);
        return check + checkView();
    }
}
