//! Generates the code that writes a type.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::attributes::Form;
use crate::bounds::{bounded, implementation};
use crate::model::{Content, Field, Names, Shape, Type};

/// Implements `ToValue`.
pub fn expand(model: &Type) -> TokenStream {
    let generics = bounded(model, &quote!(__derive::ToValue));
    let head = implementation(model, &generics, &quote!(__derive::ToValue));
    let body = match &model.shape {
        Shape::Struct(content) => of_struct(content),
        Shape::Enum(variants) => {
            let is_plain = variants.iter().all(|variant| matches!(variant.content, Content::Unit));
            let arms = variants.iter().map(|variant| {
                let (ident, name, braced) = (&variant.ident, &variant.name, variant.content.braced());
                let written = of_variant(name, &variant.content);
                quote!(Self::#ident #braced => #written,)
            });
            let body = quote!(match self { #(#arms)* });
            let distinct = is_plain.then(|| {
                quote!(
                    const DISTINCT: bool = true;
                )
            });
            let function = function(&body);
            quote!(#distinct #function)
        }
    };
    quote! {
        const _: () = {
            use ::rawline_value::__derive;
            #head { #body }
        };
    }
}

fn function(body: &TokenStream) -> TokenStream {
    quote! {
        #[inline]
        fn to_value(
            &self,
            writer: &mut __derive::ValueWriter<'_>,
        ) -> __derive::Result<(), __derive::ValueError> {
            #body
        }
    }
}

fn of_struct(content: &Content) -> TokenStream {
    let braced = content.braced();
    let open = quote!(let Self #braced = self;);
    match content {
        Content::Unit => function(&quote!(__derive::ToValue::to_value(&(), writer))),
        Content::Newtype(field) => {
            let put = put(field, &quote!(head));
            // A key and the content are written in one step, too.
            quote! {
                #[inline]
                fn to_value(
                    &self,
                    writer: &mut __derive::ValueWriter<'_>,
                ) -> __derive::Result<(), __derive::ValueError> {
                    __derive::ToValue::to_value_after(self, &[], writer)
                }

                #[inline]
                fn to_value_after<const HEAD_BYTES: usize>(
                    &self,
                    head: &[u8; HEAD_BYTES],
                    writer: &mut __derive::ValueWriter<'_>,
                ) -> __derive::Result<(), __derive::ValueError> {
                    #open
                    #put
                    __derive::Ok(())
                }
            }
        }
        Content::Record { fields, names } => {
            let record = record(fields, *names);
            function(&quote! {
                #open
                #record
            })
        }
    }
}

fn of_variant(name: &str, content: &Content) -> TokenStream {
    let inner = match content {
        Content::Unit => return quote!(__derive::put_variant(writer, #name)),
        Content::Newtype(field) => {
            let put = put(field, &quote!(&[]));
            quote! { #put __derive::Ok(()) }
        }
        Content::Record { fields, names } => record(fields, *names),
    };
    quote! {{
        __derive::begin_variant(writer, #name)?;
        writer.nested(|writer| { #inner })
    }}
}

/// Writes fields that are bound to their variables.
fn record(fields: &[Field], names: Names) -> TokenStream {
    let fields: Vec<_> = fields.iter().filter(|field| !field.attributes.skip).collect();
    let count = fields.len();
    if names != Names::Written {
        let puts = fields.iter().map(|field| {
            let put = put(field, &quote!(&[]));
            let local = &field.local;
            match &field.attributes.skip_if {
                // A field is known by its place, so a skipped one keeps it.
                Some(skip_if) => quote! {
                    if #skip_if(#local) { __derive::put_field(writer, &[], &())?; } else { #put }
                },
                None => put,
            }
        });
        return quote! {
            __derive::begin(writer, false, #count)?;
            writer.nested(|writer| {
                #(#puts)*
                __derive::Ok(())
            })
        };
    }
    let skipped = |field: &Field| {
        let local = &field.local;
        let by_type = match &field.attributes.form {
            Form::ByType => quote!(__derive::ToValue::is_absent(#local)),
            _ => quote!(false),
        };
        match &field.attributes.skip_if {
            Some(skip_if) => quote!((#by_type || #skip_if(#local))),
            None => by_type,
        }
    };
    let conditions: Vec<_> = fields.iter().map(|field| skipped(field)).collect();
    let puts = fields.iter().zip(&conditions).map(|(field, skipped)| {
        let key = field.key();
        let put = put(field, &quote!(#key));
        quote!(if !#skipped { #put })
    });
    quote! {
        let fields_present = #count #(- #conditions as usize)*;
        __derive::begin(writer, true, fields_present)?;
        writer.nested(|writer| {
            #(#puts)*
            __derive::Ok(())
        })
    }
}

/// Writes a field's key and the field.
fn put(field: &Field, key: &TokenStream) -> TokenStream {
    let local = &field.local;
    let span = field.span();
    match &field.attributes.form {
        Form::ByType => quote_spanned!(span=> __derive::put_field(writer, #key, #local)?;),
        Form::Set => quote_spanned!(span=> __derive::put_field(writer, #key, &__derive::AsSet(#local))?;),
        Form::Bytes => quote_spanned!(span=> __derive::put_field(writer, #key, &__derive::AsBytes(#local))?;),
        Form::With(module) => {
            let function = function_of(module, "to_value");
            quote! {
                __derive::put_raw(writer, #key);
                #function(#local, writer)?;
            }
        }
    }
}

/// A function of a module.
pub fn function_of(module: &syn::ExprPath, name: &str) -> syn::ExprPath {
    let mut path = module.clone();
    path.path.segments.push(syn::Ident::new(name, module.span()).into());
    path
}
