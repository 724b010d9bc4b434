//! The input of the derive: a type with its attributes applied.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Generics, Index, Member, Result};

use crate::attributes::{FieldAttributes, TypeAttributes, VariantAttributes};
use crate::case::Case;

/// A struct or an enum.
pub struct Type {
    pub name: Ident,
    pub generics: Generics,
    pub shape: Shape,
}

/// The kind of a type.
pub enum Shape {
    Struct(Content),
    Enum(Vec<Variant>),
}

/// An enum's variant.
pub struct Variant {
    pub ident: Ident,
    /// Its name in a value.
    pub name: String,
    pub content: Content,
}

/// The contents of a struct or a variant.
pub enum Content {
    /// Nothing.
    Unit,
    /// One unnamed field, which represents the whole.
    Newtype(Box<Field>),
    /// Fields: a vector, or a table with their names.
    Record { fields: Vec<Field>, names: Names },
}

/// The use of the names of a record's fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The fields have no names: always a vector.
    Missing,
    /// Written as a vector, read from a table too.
    Read,
    /// Written as a table, read from both.
    Written,
}

/// A field.
pub struct Field {
    pub member: Member,
    /// Its name in a value.
    pub name: String,
    /// The variable that holds it in the code.
    pub local: Ident,
    pub ty: syn::Type,
    pub attributes: FieldAttributes,
}

impl Type {
    /// Reads the item after `#[derive]`.
    pub fn new(input: &DeriveInput) -> Result<Type> {
        let attributes = TypeAttributes::new(&input.attrs)?;
        let shape = match &input.data {
            Data::Struct(data) => {
                Shape::Struct(Content::new(&data.fields, attributes.rename_all, attributes.table, input.ident.span())?)
            }
            Data::Enum(data) => {
                let mut variants = Vec::new();
                for variant in &data.variants {
                    variants.push(Variant::new(variant, &attributes)?);
                }
                if variants.is_empty() {
                    return Err(Error::new(input.ident.span(), "an enum without variants has no values"));
                }
                let names = variants.iter().map(|variant| (variant.name.as_str(), variant.ident.span()));
                distinct(names, "variants")?;
                Shape::Enum(variants)
            }
            Data::Union(data) => {
                return Err(Error::new(data.union_token.span(), "a union can't be a value; use a struct or an enum"));
            }
        };
        Ok(Type { name: input.ident.clone(), generics: input.generics.clone(), shape })
    }

    /// The fields that are written and read, of all variants.
    pub fn fields(&self) -> Vec<&Field> {
        let contents = match &self.shape {
            Shape::Struct(content) => vec![content],
            Shape::Enum(variants) => variants.iter().map(|variant| &variant.content).collect(),
        };
        contents.into_iter().flat_map(Content::fields).filter(|field| !field.attributes.skip).collect()
    }
}

impl Variant {
    fn new(variant: &syn::Variant, of: &TypeAttributes) -> Result<Variant> {
        let attributes = VariantAttributes::new(&variant.attrs)?;
        let own = plain(&variant.ident);
        let name = match (attributes.rename, of.rename_all) {
            (Some(name), _) => name.value(),
            (None, Some(case)) => case.of_variant(&own),
            (None, None) => own,
        };
        let content = Content::new(&variant.fields, attributes.rename_all, of.table, variant.ident.span())?;
        Ok(Variant { ident: variant.ident.clone(), name, content })
    }
}

impl Content {
    fn new(fields: &syn::Fields, rename_all: Option<Case>, table: bool, span: Span) -> Result<Content> {
        let names = match (fields, table) {
            (syn::Fields::Named(_), true) => Names::Written,
            (syn::Fields::Named(_), false) => Names::Read,
            _ => Names::Missing,
        };
        let mut found = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            found.push(Field::new(field, index, rename_all)?);
        }
        match fields {
            syn::Fields::Unit => return Ok(Content::Unit),
            syn::Fields::Unnamed(_) if found.len() == 1 => {
                if let Some(field) = found.pop_if(|field| !field.attributes.skip) {
                    return Ok(Content::Newtype(Box::new(field)));
                }
            }
            _ => {}
        }
        let written = found.iter().filter(|field| !field.attributes.skip);
        distinct(written.map(|field| (field.name.as_str(), field.ty.span())), "fields")?;
        if found.iter().any(|field| field.name.len() > 1000) {
            return Err(Error::new(span, "a field's name has more than 1000 bytes"));
        }
        Ok(Content::Record { fields: found, names })
    }

    /// All fields.
    pub fn fields(&self) -> &[Field] {
        match self {
            Content::Unit => &[],
            Content::Newtype(field) => std::slice::from_ref(field),
            Content::Record { fields, .. } => fields,
        }
    }

    /// A pattern that binds the fields to their variables, or an expression that makes the content of them.
    pub fn braced(&self) -> TokenStream {
        let fields = self.fields().iter().map(|Field { member, local, .. }| quote!(#member: #local));
        quote!({ #(#fields),* })
    }
}

impl Field {
    fn new(field: &syn::Field, index: usize, rename_all: Option<Case>) -> Result<Field> {
        let attributes = FieldAttributes::new(&field.attrs)?;
        attributes.check(field.span())?;
        let own = field.ident.as_ref().map_or_else(|| index.to_string(), plain);
        let name = match (&attributes.rename, rename_all, &field.ident) {
            (Some(name), _, None) => {
                return Err(Error::new(name.span(), "a field without a name is known by its place; remove rename"));
            }
            (Some(name), ..) => name.value(),
            (None, Some(case), Some(_)) => case.of_field(&own),
            (None, ..) => own,
        };
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named);
        Ok(Field { member, name, local: format_ident!("field_{index}"), ty: field.ty.clone(), attributes })
    }

    /// The position of errors about the field's type. Names in the code mean what they mean in the derived code,
    /// also if another macro has made the type.
    pub fn span(&self) -> Span {
        self.ty.span().resolved_at(Span::call_site())
    }

    /// The bytes of the key in a table: a string.
    pub fn key(&self) -> proc_macro2::Literal {
        let mut key = vec![5];
        let mut size = self.name.len();
        while size >= 0x80 {
            key.push(size as u8 | 0x80);
            size >>= 7;
        }
        key.push(size as u8);
        key.extend(self.name.as_bytes());
        proc_macro2::Literal::byte_string(&key)
    }
}

/// An identifier's text, without `r#`.
fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

fn distinct<'n>(names: impl Iterator<Item = (&'n str, Span)>, what: &str) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (name, span) in names {
        if !seen.insert(name) {
            return Err(Error::new(span, format_args!("two {what} have the name {name:?} in a value; rename one")));
        }
    }
    Ok(())
}
