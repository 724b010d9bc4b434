//! Errors of the macros, and names in another case.

#![allow(clippy::unwrap_used, clippy::panic)]

use syn::parse_str;

use crate::case::Case;
use crate::model::Type;

/// The error for this type.
fn error(input: &str) -> String {
    match parse_str(input).and_then(|input| Type::new(&input)) {
        Ok(_) => panic!("no error for {input}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_say_what_to_do() {
    for (input, message) in [
        ("union U { a: u8 }", "a union can't be a value; use a struct or an enum"),
        ("enum Never {}", "an enum without variants has no values"),
        ("#[value(tabel)] struct S;", "a type has no such attribute; use one of table, rename_all"),
        ("enum E { #[value(skip)] A }", "a variant has no such attribute; use one of rename, rename_all"),
        (
            "struct S { #[value(flatten)] a: u8 }",
            "a field has no such attribute; use one of rename, default, skip, skip_if, set, bytes, with",
        ),
        (
            "#[value(rename_all = \"Camel\")] struct S { a: u8 }",
            "unknown case; use one of lowercase, UPPERCASE, PascalCase, camelCase, snake_case, SCREAMING_SNAKE_CASE, \
             kebab-case, SCREAMING-KEBAB-CASE",
        ),
        (
            "struct S { a: u8, #[value(rename = \"a\")] b: u16 }",
            "two fields have the name \"a\" in a value; rename one",
        ),
        ("enum E { A, #[value(rename = \"A\")] B }", "two variants have the name \"A\" in a value; rename one"),
        ("struct S { #[value(default, default)] a: u8 }", "duplicate attribute; give it once"),
        ("#[value(table, table)] struct S {}", "duplicate attribute; give it once"),
        ("struct S { #[value(set, bytes)] a: u8 }", "a field has one of set, bytes and with"),
        (
            "struct S { #[value(skip, set)] a: u8 }",
            "a field with skip isn't written or read; remove the other attributes",
        ),
        ("struct S(#[value(rename = \"x\")] u8, u8);", "a field without a name is known by its place; remove rename"),
        ("struct S { #[value(rename)] a: u8 }", "expected `=`"),
        ("struct S { #[value(with = \"1\")] a: u8 }", "expected identifier"),
    ] {
        let found = error(input);
        assert!(found.starts_with(message), "{input}: {found}");
    }
}

#[test]
fn cases_are_those_of_serde() {
    let fields = Case::ALL.map(|(_, case)| case.of_field("first_name"));
    let wanted =
        ["first_name", "FIRST_NAME", "FirstName", "firstName", "first_name", "FIRST_NAME", "first-name", "FIRST-NAME"];
    assert_eq!(fields, wanted);
    let variants = Case::ALL.map(|(_, case)| case.of_variant("StopNow"));
    let wanted = ["stopnow", "STOPNOW", "StopNow", "stopNow", "stop_now", "STOP_NOW", "stop-now", "STOP-NOW"];
    assert_eq!(variants, wanted);
}
