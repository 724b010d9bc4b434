//! The recommended row: the one with the smallest product of bytes and time.

use lab_report::formats;
use lab_report::{Row, text};

/// What counts about a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Which row.
    pub row: Row,
    /// Mean bytes a message.
    pub bytes: f64,
    /// Encode and decode together.
    pub ns: f64,
}

impl Standing {
    /// Bytes and time count alike: twice the bytes is as bad as twice the time.
    fn product(&self) -> f64 {
        self.bytes * self.ns
    }

    fn name(&self) -> String {
        format!("{} by {}", formats::name(&self.row.format), self.row.name())
    }

    fn costs(&self) -> String {
        format!("{}, {}", text::bytes(self.bytes), text::time(self.ns))
    }
}

/// One sentence: the row with the smallest product, compared with the smallest, the fastest, and the best without a
/// schema. Nothing without rows.
pub fn sentence(standings: &[Standing]) -> Option<String> {
    let least = |of: &dyn Fn(&Standing) -> f64| standings.iter().min_by(|one, other| of(one).total_cmp(&of(other)));
    let best = least(&Standing::product)?;
    let smallest = least(&|standing| standing.bytes)?;
    let fastest = least(&|standing| standing.ns)?;
    let mut said = format!("I would choose {} ({}, to write and read a message)", best.name(), best.costs());
    said.push_str(match standings.len() {
        1 => ", the only row that was measured",
        _ => ": it has the least bytes times time of all rows",
    });
    let compared = |what: &str, other: &Standing, factor: f64| match other.row == best.row {
        true => format!("it is the {what}"),
        false => format!("the {what}, {}, has {} and is {}", other.name(), other.costs(), against(what, factor)),
    };
    if standings.len() > 1 && best.row == smallest.row && best.row == fastest.row {
        said.push_str(", being both the smallest and the fastest");
    } else if standings.len() > 1 {
        said.push_str(&format!(
            "; {}; {}",
            compared("smallest", smallest, best.bytes / smallest.bytes),
            compared("fastest", fastest, best.ns / fastest.ns)
        ));
    }
    let describes_itself = |standing: &&Standing| formats::is_self_describing(&standing.row.format);
    if !describes_itself(&best) {
        let other =
            standings.iter().filter(describes_itself).min_by(|one, other| one.product().total_cmp(&other.product()));
        if let Some(other) = other {
            said.push_str(&format!("; if readers have no schema, {} ({})", other.name(), other.costs()));
        }
    }
    said.push('.');
    Some(said)
}

fn against(what: &str, factor: f64) -> String {
    let worse = if what == "smallest" { "smaller" } else { "faster" };
    format!("{factor:.2} times {worse}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(format: &str, library: &str, bytes: f64, ns: f64) -> Standing {
        let row =
            Row { language: "rust".into(), format: format.into(), library: library.into(), variant: String::new() };
        Standing { row, bytes, ns }
    }

    #[test]
    fn bytes_and_time_count_alike() {
        let standings = [
            standing("json", "serde_json", 200.0, 800.0),
            standing("avro", "rawline-avro", 100.0, 300.0),
            standing("protobuf", "prost-reflect", 110.0, 250.0),
            standing("values", "rawline-value", 180.0, 400.0),
        ];
        let said = sentence(&standings).unwrap();
        assert!(said.starts_with("I would choose Protobuf by prost-reflect (110 B, 250 ns"), "{said}");
        assert!(
            said.contains("the smallest, Avro by rawline-avro, has 100 B, 300 ns and is 1.10 times smaller"),
            "{said}"
        );
        assert!(said.contains("it is the fastest"), "{said}");
        assert!(said.contains("if readers have no schema, values by rawline-value"), "{said}");
    }

    #[test]
    fn without_rows_nothing_is_chosen() {
        assert_eq!(sentence(&[]), None);
    }
}
