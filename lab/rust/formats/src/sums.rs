//! The sums of types that have a case's fields by name, whatever library generated them.

/// Implements `Summed`. Arguments say what differs between libraries: how to get an optional record, string or number.
macro_rules! sums {
    (PingPong $of:ty, [$($life:lifetime)?]) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                sum.int(self.id);
                sum.int(self.version.into());
                sum.text(&self.message);
                sum.flag(self.is_important);
                self.names.iter().for_each(|name| sum.text(name));
                self.ints.iter().for_each(|number| sum.int((*number).into()));
                self.doubles.iter().for_each(|number| sum.real(*number));
                sum.0
            }
        }
    };
    (Doubles $of:ty, [$($life:lifetime)?]) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                let singles = [self.single_1, self.single_2, self.single_3, self.single_4, self.single_5];
                singles.iter().for_each(|number| sum.real(*number));
                self.list.iter().for_each(|number| sum.real(*number));
                sum.0
            }
        }
    };
    (Strings $of:ty, [$($life:lifetime)?]) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                let singles = [&self.string_1, &self.string_2, &self.string_3, &self.string_4, &self.string_5];
                singles.iter().for_each(|text| sum.text(text));
                self.names.iter().for_each(|name| sum.text(name));
                sum.0
            }
        }
    };
    (Zeek $of:ty, [$($life:lifetime)?], $absent:expr) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                sum.int(self.ts);
                for number in [self.orig_p, self.resp_p, self.trans_id, self.qclass, self.qtype, self.rcode, self.z] {
                    sum.int(number.into());
                }
                for text in [&self.uid, &self.orig_h, &self.resp_h, &self.proto, &self.query] {
                    sum.text(text);
                }
                for text in [&self.qclass_name, &self.qtype_name, &self.rcode_name] {
                    sum.text(text);
                }
                if let Some(rtt) = $absent(self.rtt) {
                    sum.real(rtt);
                }
                for flag in [self.aa, self.tc, self.rd, self.ra, self.rejected] {
                    sum.flag(flag);
                }
                self.answers.iter().for_each(|answer| sum.text(answer));
                self.ttls.iter().for_each(|number| sum.real(*number));
                sum.0
            }
        }
    };
    (Measurement $of:ty, [$($life:lifetime)?]) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                sum.text(&self.metric);
                for (key, value) in &self.tags {
                    sum.text(key);
                    sum.text(value);
                }
                sum.int(self.logtime);
                sum.int(self.value);
                sum.0
            }
        }
    };
    (Order $of:ty, [$($life:lifetime)?], $customer:expr, $text:expr, $absent:expr) => {
        impl<$($life)?> $crate::cases::Summed for $of {
            #[inline]
            fn sum(&self) -> u64 {
                let mut sum = $crate::cases::Sum::default();
                for number in [self.id, self.placed_at, self.total_cents] {
                    sum.int(number);
                }
                sum.text(&self.currency);
                if let Some(customer) = $customer(&self.customer) {
                    sum.int(customer.id);
                    sum.text(&customer.name);
                    sum.text($text(&customer.email));
                }
                sum.text($text(&self.note));
                if let Some(shipping) = &self.shipping {
                    for text in [&shipping.street, &shipping.city, &shipping.postcode, &shipping.country] {
                        sum.text(text);
                    }
                }
                for line in &self.lines {
                    sum.text(&line.sku);
                    sum.text($text(&line.description));
                    sum.int(line.quantity.into());
                    sum.int(line.unit_price_cents);
                    if let Some(discount) = $absent(line.discount) {
                        sum.real(discount);
                    }
                }
                sum.0
            }
        }
    };
}
pub(crate) use sums;
