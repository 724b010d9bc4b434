//! Parses `#[value(...)]` of a type, a variant and a field.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, ExprPath, LitStr, Result};

use crate::case::Case;

/// Attributes of a type.
#[derive(Default)]
pub struct TypeAttributes {
    /// Records are tables with their fields' names.
    pub table: bool,
    pub rename_all: Option<Case>,
}

/// Attributes of an enum's variant.
#[derive(Default)]
pub struct VariantAttributes {
    pub rename: Option<LitStr>,
    /// For the fields of the variant.
    pub rename_all: Option<Case>,
}

/// Attributes of a field.
#[derive(Default)]
pub struct FieldAttributes {
    pub rename: Option<LitStr>,
    pub default: Absent,
    pub skip: bool,
    pub skip_if: Option<ExprPath>,
    pub form: Form,
}

/// The value of a missing field.
#[derive(Default)]
pub enum Absent {
    /// The type's default: an error, unless it is an `Option`.
    #[default]
    ByType,
    /// `Default::default()`.
    Default,
    /// The result of this function.
    Call(ExprPath),
}

/// How a field becomes a value.
#[derive(Default)]
pub enum Form {
    /// As its type says.
    #[default]
    ByType,
    /// A sequence becomes a set.
    Set,
    /// Bytes become a string.
    Bytes,
    /// By the functions `to_value` and `from_value` of this module.
    With(ExprPath),
}

/// Names of all attributes, for the error about an unknown one.
const OF_TYPE: &str = "table, rename_all";
const OF_VARIANT: &str = "rename, rename_all";
const OF_FIELD: &str = "rename, default, skip, skip_if, set, bytes, with";

impl TypeAttributes {
    pub fn new(attributes: &[Attribute]) -> Result<TypeAttributes> {
        let mut found = TypeAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("table") {
                return once(&meta, &mut found.table);
            }
            if meta.path.is_ident("rename_all") {
                return put(&meta, &mut found.rename_all, case);
            }
            Err(unknown(&meta, "a type", OF_TYPE))
        })?;
        Ok(found)
    }
}

impl VariantAttributes {
    pub fn new(attributes: &[Attribute]) -> Result<VariantAttributes> {
        let mut found = VariantAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("rename") {
                return put(&meta, &mut found.rename, text);
            }
            if meta.path.is_ident("rename_all") {
                return put(&meta, &mut found.rename_all, case);
            }
            Err(unknown(&meta, "a variant", OF_VARIANT))
        })?;
        Ok(found)
    }
}

impl FieldAttributes {
    pub fn new(attributes: &[Attribute]) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
        each(attributes, |meta| {
            let form = |found: &mut Form, form: Form| match found {
                Form::ByType => {
                    *found = form;
                    Ok(())
                }
                _ => Err(meta.error("a field has one of set, bytes and with")),
            };
            match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some("rename") => put(&meta, &mut found.rename, text),
                Some("skip") => once(&meta, &mut found.skip),
                Some("skip_if") => put(&meta, &mut found.skip_if, path),
                Some("set") => form(&mut found.form, Form::Set),
                Some("bytes") => form(&mut found.form, Form::Bytes),
                Some("with") => form(&mut found.form, Form::With(path(&meta)?)),
                Some("default") => {
                    if !matches!(found.default, Absent::ByType) {
                        return Err(twice(&meta));
                    }
                    let has_path = meta.input.peek(syn::Token![=]);
                    found.default = if has_path { Absent::Call(path(&meta)?) } else { Absent::Default };
                    Ok(())
                }
                _ => Err(unknown(&meta, "a field", OF_FIELD)),
            }
        })?;
        Ok(found)
    }

    /// Whether the attributes are those of a field that is neither written nor read, or contradict that.
    pub fn check(&self, span: proc_macro2::Span) -> Result<()> {
        let others = self.rename.is_some() || self.skip_if.is_some() || !matches!(self.form, Form::ByType);
        if self.skip && others {
            return Err(syn::Error::new(span, "a field with skip isn't written or read; remove the other attributes"));
        }
        Ok(())
    }
}

fn each(attributes: &[Attribute], mut take: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("value"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut take))
}

fn once(meta: &ParseNestedMeta<'_>, place: &mut bool) -> Result<()> {
    if *place {
        return Err(twice(meta));
    }
    *place = true;
    Ok(())
}

fn put<T>(
    meta: &ParseNestedMeta<'_>,
    place: &mut Option<T>,
    read: fn(&ParseNestedMeta<'_>) -> Result<T>,
) -> Result<()> {
    if place.is_some() {
        return Err(twice(meta));
    }
    *place = Some(read(meta)?);
    Ok(())
}

fn twice(meta: &ParseNestedMeta<'_>) -> syn::Error {
    meta.error("duplicate attribute; give it once")
}

fn unknown(meta: &ParseNestedMeta<'_>, of: &str, known: &str) -> syn::Error {
    meta.error(format_args!("{of} has no such attribute; use one of {known}"))
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

fn path(meta: &ParseNestedMeta<'_>) -> Result<ExprPath> {
    text(meta)?.parse()
}

fn case(meta: &ParseNestedMeta<'_>) -> Result<Case> {
    let wanted = text(meta)?;
    let found = Case::ALL.into_iter().find(|(name, _)| *name == wanted.value());
    found.map(|(_, case)| case).ok_or_else(|| {
        let names = Case::ALL.map(|(name, _)| name).join(", ");
        syn::Error::new(wanted.span(), format_args!("unknown case; use one of {names}"))
    })
}
