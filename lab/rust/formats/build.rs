//! Generates the code of the schemas, and records the versions of the compiler and of every crate in the lock file.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SCHEMAS: &str = "../../schemas";
/// What lab/schemas/generate.sh wrote.
const GENERATED: &str = "../../generated";

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../Cargo.lock");
    fs::write(out.join("versions.rs"), versions(&fs::read_to_string("../Cargo.lock")?)?)?;

    let schema = format!("{SCHEMAS}/cases.proto");
    println!("cargo:rerun-if-changed={schema}");
    prost(&schema)?;
    quick_protobuf(&schema, &out)?;
    capnp(&generated("cases.capnp.request")?, &out)?;
    fs::copy(generated("rust/cases_generated.rs")?, out.join("cases_generated.rs"))?;
    sbe(&generated("rust/rawline_lab_sbe/src")?, &out)?;

    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let rustc = String::from_utf8(rustc.stdout)?;
    let rustc: Vec<&str> = rustc.split_whitespace().take(2).collect();
    println!("cargo:rustc-env=LAB_RUSTC={}", rustc.join(" "));
    println!("cargo:rustc-env=LAB_SBE={}", fs::read_to_string(generated("sbe.version")?)?.trim());
    Ok(())
}

/// The path of something that generate.sh wrote.
fn generated(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let path = Path::new(GENERATED).join(name);
    println!("cargo:rerun-if-changed={}", path.display());
    if path.exists() {
        return Ok(path);
    }
    Err(format!("lab/generated/{name} does not exist: run `make lab-generate` in the repository's root").into())
}

/// Code for prost; its types also derive serde's traits, since they are made from the case's messages.
fn prost(schema: &str) -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile([schema], [SCHEMAS])?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]);
    config.type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]");
    config.compile_fds(descriptors)?;
    Ok(())
}

/// Code for quick-protobuf, with owned strings.
fn quick_protobuf(schema: &str, out: &Path) -> Result<(), Box<dyn Error>> {
    let folder = out.join("quick");
    fs::create_dir_all(&folder)?;
    let schema = PathBuf::from(schema);
    let config = pb_rs::ConfigBuilder::new(&[schema], None, Some(&folder), &[PathBuf::from(SCHEMAS)])?;
    let config = config
        .headers(false)
        .dont_use_cow(true)
        .custom_struct_derive(vec!["serde::Serialize, serde::Deserialize".to_owned()]);
    pb_rs::types::FileDescriptor::run(&config.build())?;
    // The generated reader assumes that packed doubles are aligned. That is undefined behavior and aborts a debug
    // build. Read them one by one instead.
    let path = folder.join("rawline/lab.rs");
    let code = fs::read_to_string(&path)?;
    let fixed = "r.read_packed_fixed(bytes)?.into()";
    if !code.contains(fixed) {
        return Err(format!("pb-rs no longer generates {fixed}: check whether it still needs to be replaced").into());
    }
    fs::write(&path, code.replace(fixed, "r.read_packed(bytes, |r, bytes| r.read_double(bytes))?"))?;
    Ok(())
}

/// Code for capnp, from the request that the schema's compiler wrote.
fn capnp(request: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut command = capnpc::codegen::CodeGenerationCommand::new();
    command.output_directory(out);
    command.run(std::io::BufReader::new(fs::File::open(request)?))?;
    Ok(())
}

/// SBE's crate as one module: its files become modules, and its paths begin at the module instead of at a crate.
fn sbe(folder: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut code = String::new();
    for line in fs::read_to_string(folder.join("lib.rs"))?.lines() {
        if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
            let module = fs::read_to_string(folder.join(format!("{name}.rs")))?;
            writeln!(code, "pub mod {name} {{\n{module}\n}}")?;
        } else if !line.starts_with("#![") {
            writeln!(code, "{line}")?;
        }
    }
    fs::write(out.join("cases_sbe.rs"), code.replace("crate::", "crate::generated::sbe::"))?;
    Ok(())
}

/// The source of a function from a crate's name to its version.
fn versions(lock: &str) -> Result<String, Box<dyn Error>> {
    let mut code = String::from("fn locked(name: &str) -> Option<&'static str> {\n    Some(match name {\n");
    let mut names = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|line| line.trim_matches('"').to_owned())
        };
        let (name, version) = (value("name").ok_or("no name")?, value("version").ok_or("no version")?);
        // If a crate is locked in two versions, the first one may not be ours. The crates of our rows are locked once.
        if !names.contains(&name) {
            writeln!(code, "        {name:?} => {version:?},")?;
            names.push(name);
        }
    }
    code.push_str("        _ => return None,\n    })\n}\n");
    Ok(code)
}
