//! Lists the files that `make console` has built, for the library to embed. Without them it embeds a page that says so:
//! the broker is built without Node too.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)] // Cargo speaks to build scripts in variables.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let dist = root.join("../../console/dist");
    // The folder exists in a fresh clone: otherwise Cargo would run this in every build.
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut names: Vec<String> = std::fs::read_dir(&dist)
        .unwrap_or_else(|error| panic!("{}: {error}", dist.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && !name.ends_with(".gz"))
        .collect();
    names.sort();
    let folder = if names.iter().any(|name| name == "index.html") { dist } else { root.join("src/not_built") };
    if folder.ends_with("not_built") {
        names = vec!["index.html".to_owned()];
    }
    let mut files = String::from("&[\n");
    for name in names {
        writeln!(files, "    File {{").unwrap();
        writeln!(files, "        name: {name:?},").unwrap();
        writeln!(files, "        content_type: {:?},", content_type(&name)).unwrap();
        writeln!(files, "        plain: include_bytes!({:?}),", folder.join(&name)).unwrap();
        let gzip = folder.join(format!("{name}.gz"));
        match gzip.exists() {
            true => writeln!(files, "        gzip: Some(include_bytes!({gzip:?})),").unwrap(),
            false => writeln!(files, "        gzip: None,").unwrap(),
        }
        writeln!(files, "    }},").unwrap();
    }
    files.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
    std::fs::write(out.join("files.rs"), files).unwrap();
}

fn content_type(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => panic!("{name}: what type of content is that?"),
    }
}
