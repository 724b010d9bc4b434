//! Bounds of an implementation for a generic type.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Ident, parse_quote};

use crate::attributes::Form;
use crate::model::{Field, Type};

/// The type's generics, with this bound on each type parameter that a written and read field has.
pub fn bounded(model: &Type, bound: &TokenStream) -> Generics {
    let mut generics = model.generics.clone();
    let fields = model.fields();
    for parameter in generics.type_params_mut() {
        if fields.iter().any(|field| needs(field, &parameter.ident)) {
            parameter.bounds.push(parse_quote!(#bound));
        }
    }
    generics
}

fn needs(field: &Field, parameter: &Ident) -> bool {
    if !matches!(field.attributes.form, Form::ByType | Form::Set) {
        return false;
    }
    if let syn::Type::Path(path) = &field.ty
        && path.path.segments.last().is_some_and(|last| last.ident == "PhantomData")
    {
        return false;
    }
    contains(field.ty.to_token_stream(), parameter)
}

fn contains(tokens: TokenStream, wanted: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *wanted,
        TokenTree::Group(group) => contains(group.stream(), wanted),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// An implementation's head: `impl<..> Trait for Type<..> where ..`, with generics of the trait's own.
pub fn implementation(model: &Type, generics: &Generics, of: &TokenStream) -> TokenStream {
    let name = &model.name;
    let (parameters, _, conditions) = generics.split_for_impl();
    let (_, arguments, _) = model.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, deprecated, unused_variables)]
        impl #parameters #of for #name #arguments #conditions
    }
}
