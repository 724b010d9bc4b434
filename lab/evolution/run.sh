#!/bin/sh
# Runs the schema evolution tests of the three languages, and writes what came of each change to lab/out/evolution.jsonl.
#
#   lab/evolution/run.sh             fails where an outcome is not the one in expected.json
#   lab/evolution/run.sh --accept    makes expected.json of the outcomes
#
# Needs Rust, Python 3.10 or newer, a JDK 17 and Maven. Whatever else is needed comes from the package registries.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/../.tools/evolution"
out="$here/../out/evolution.jsonl"

case "${1:-}" in
  "") unset EVOLUTION_ACCEPT ;;
  --accept) export EVOLUTION_ACCEPT=1 ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac

if ! cmp -s "$here/python/requirements.txt" "$venv/requirements.txt"; then
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/requirements.txt"
  cp "$here/python/requirements.txt" "$venv/requirements.txt"
fi

mkdir -p "$(dirname "$out")"
: >"$out"
cargo test --quiet --locked --manifest-path "$here/rust/Cargo.toml"
# With them the tests of the cases, which need the same libraries.
"$venv/bin/python" -m pytest --quiet -p no:cacheprovider "$here/python" "$here/../cases"
(cd "$here/java" && mvn --quiet --batch-mode test)

# Every format has every outcome, and where two libraries do the same format they agree.
exec python3 "$here/outcomes.py" "$@"
