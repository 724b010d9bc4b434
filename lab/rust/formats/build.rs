//! Generates the Protobuf code, and notes the versions of the compiler and of every crate in the lock file.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../Cargo.lock");
    fs::write(out.join("versions.rs"), versions(&fs::read_to_string("../Cargo.lock")?)?)?;

    let schema = "../../schemas/cases.proto";
    println!("cargo:rerun-if-changed={schema}");
    prost(schema)?;
    quick_protobuf(schema, &out)?;

    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let rustc = String::from_utf8(rustc.stdout)?;
    let rustc: Vec<&str> = rustc.split_whitespace().take(2).collect();
    println!("cargo:rustc-env=LAB_RUSTC={}", rustc.join(" "));
    Ok(())
}

/// Code for prost; its types also take serde's, to be made from the case's messages.
fn prost(schema: &str) -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile([schema], ["../../schemas"])?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]);
    config.type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]");
    config.compile_fds(descriptors)?;
    Ok(())
}

/// Code for quick-protobuf, with owned texts.
fn quick_protobuf(schema: &str, out: &Path) -> Result<(), Box<dyn Error>> {
    let folder = out.join("quick");
    fs::create_dir_all(&folder)?;
    let schema = PathBuf::from(schema);
    let config = pb_rs::ConfigBuilder::new(&[schema], None, Some(&folder), &[PathBuf::from("../../schemas")])?;
    let config = config
        .headers(false)
        .dont_use_cow(true)
        .custom_struct_derive(vec!["serde::Serialize, serde::Deserialize".to_owned()]);
    pb_rs::types::FileDescriptor::run(&config.build())?;
    // It takes packed doubles for aligned wherever they lie, which is undefined behaviour and stops a debug build; one by
    // one they are read as they must be.
    let path = folder.join("rawline/lab.rs");
    let code = fs::read_to_string(&path)?;
    let fixed = "r.read_packed_fixed(bytes)?.into()";
    if !code.contains(fixed) {
        return Err(format!("pb-rs no longer writes {fixed}: see whether it still must be replaced").into());
    }
    fs::write(&path, code.replace(fixed, "r.read_packed(bytes, |r, bytes| r.read_double(bytes))?"))?;
    Ok(())
}

/// A function from a crate's name to its version.
fn versions(lock: &str) -> Result<String, Box<dyn Error>> {
    let mut code = String::from("fn locked(name: &str) -> Option<&'static str> {\n    Some(match name {\n");
    let mut names = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|line| line.trim_matches('"').to_owned())
        };
        let (name, version) = (value("name").ok_or("no name")?, value("version").ok_or("no version")?);
        // Of a crate that is there twice the first is not known to be ours; ours are there once.
        if !names.contains(&name) {
            writeln!(code, "        {name:?} => {version:?},")?;
            names.push(name);
        }
    }
    code.push_str("        _ => return None,\n    })\n}\n");
    Ok(code)
}
