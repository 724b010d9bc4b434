//! Generates the code that reads a type.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::{GenericParam, LifetimeParam, parse_quote};

use crate::attributes::{Absent, Form};
use crate::bounds::{bounded, implementation};
use crate::model::{Content, Field, Names, Shape, Type, Variant};
use crate::to_value::function_of;

/// Implements `FromValue`.
pub fn expand(model: &Type) -> TokenStream {
    let mut generics = bounded(model, &quote!(__derive::FromValue<'__de>));
    let mut bytes: LifetimeParam = parse_quote!('__de);
    bytes.bounds = model.generics.lifetimes().map(|own| own.lifetime.clone()).collect();
    generics.params.insert(0, GenericParam::Lifetime(bytes));
    let head = implementation(model, &generics, &quote!(__derive::FromValue<'__de>));
    let body = match &model.shape {
        Shape::Struct(content) => {
            let read = content_of(content, &quote!(Self));
            quote!(__derive::Ok(#read))
        }
        Shape::Enum(variants) => of_enum(variants),
    };
    quote! {
        const _: () = {
            use ::rawline_value::__derive;
            #head {
                #[inline]
                fn from_value(
                    reader: &mut __derive::ValueReader<'__de>,
                ) -> __derive::Result<Self, __derive::DecodeError> {
                    #body
                }
            }
        };
    }
}

fn of_enum(variants: &[Variant]) -> TokenStream {
    let arms = variants.iter().map(|variant| {
        let (ident, content) = (&variant.ident, &variant.content);
        let name = Literal::byte_string(variant.name.as_bytes());
        let has_content = !matches!(content, Content::Unit);
        let read = content_of(content, &quote!(Self::#ident));
        let read = if has_content { read } else { quote!(Self::#ident) };
        quote!((#name, #has_content) => #read,)
    });
    let names = variants.iter().map(|variant| &variant.name);
    quote! {
        let (name, has_content) = __derive::variant(reader)?;
        let value = match (name, has_content) {
            #(#arms)*
            _ => return __derive::Err(__derive::no_variant(name, has_content, &[#(#names),*])),
        };
        __derive::end_variant(reader, has_content);
        __derive::Ok(value)
    }
}

/// An expression that reads a struct's or a variant's content.
fn content_of(content: &Content, path: &TokenStream) -> TokenStream {
    match content {
        Content::Unit => quote!({
            <() as __derive::FromValue<'__de>>::from_value(reader)?;
            #path
        }),
        Content::Newtype(field) => {
            let take = take(field);
            quote!(#path(#take(reader)?))
        }
        Content::Record { fields, names } => record(content, fields, *names, path),
    }
}

fn record(content: &Content, fields: &[Field], names: Names, path: &TokenStream) -> TokenStream {
    let read: Vec<_> = fields.iter().filter(|field| !field.attributes.skip).collect();
    let skipped = fields.iter().filter(|field| field.attributes.skip);
    let has_names = names != Names::Missing;
    let count = read.len();
    let keys = read.iter().map(|field| &field.name);
    let locals: Vec<_> = read.iter().map(|field| &field.local).collect();
    let types = read.iter().map(|field| &field.ty);
    let in_order = read.iter().map(|field| {
        let Field { local, name, .. } = field;
        let take = take(field);
        let key = if has_names { field.key() } else { Literal::byte_string(&[]) };
        quote! {
            if record.is_next(reader, #key) {
                #local = __derive::Some(__derive::named(#take(reader), #name)?);
            }
        }
    });
    let in_any_order = read.iter().enumerate().map(|(number, field)| {
        let Field { local, name, .. } = field;
        let take = take(field);
        quote!(__derive::Some(#number) => __derive::fill(&mut #local, reader, #take, #name)?,)
    });
    let present = read.iter().map(|field| {
        let Field { local, name, ty, .. } = field;
        let absent = absent(field, quote_spanned!(field.span()=> __derive::absent::<#ty>(#name)?));
        quote! {
            let #local = match #local {
                __derive::Some(value) => value,
                __derive::None => #absent,
            };
        }
    });
    let defaults = skipped.map(|field| {
        let (local, ty) = (&field.local, &field.ty);
        let default = quote_spanned!(field.span()=> ::core::default::Default::default());
        let default = absent(field, default);
        quote!(let #local: #ty = #default;)
    });
    let braced = content.braced();
    quote! {{
        static FIELDS: __derive::Fields<'static, #count> = __derive::Fields::new([#(#keys),*]);
        let mut record = __derive::Record::begin(reader, #has_names)?;
        #(let mut #locals: __derive::Option<#types> = __derive::None;)*
        #(#in_order)*
        loop {
            match record.other(reader, &FIELDS)? {
                #(#in_any_order)*
                _ => break,
            }
        }
        record.end(reader);
        #(#present)*
        #(#defaults)*
        #path #braced
    }}
}

/// The value of a missing field, or `by_type`.
fn absent(field: &Field, by_type: TokenStream) -> TokenStream {
    let name = &field.name;
    match &field.attributes.default {
        Absent::Default => quote_spanned!(field.span()=> ::core::default::Default::default()),
        Absent::Call(path) => quote!(#path()),
        Absent::ByType if matches!(field.attributes.form, Form::Bytes | Form::With(_)) => {
            quote!(return __derive::Err(__derive::missing(#name)))
        }
        Absent::ByType => by_type,
    }
}

/// The function that takes a field's value.
fn take(field: &Field) -> TokenStream {
    let ty = &field.ty;
    match &field.attributes.form {
        Form::ByType | Form::Set => quote_spanned!(field.span()=> <#ty as __derive::FromValue<'__de>>::from_value),
        Form::Bytes => quote_spanned!(field.span()=> __derive::bytes::<#ty>),
        Form::With(module) => {
            let function = function_of(module, "from_value");
            quote!(#function)
        }
    }
}
