#!/bin/sh
# Runs the schema evolution tests of the three languages, and writes the outcome of each change to lab/out/evolution.jsonl.
#
#   lab/evolution/run.sh             fails if an outcome is not the one in expected.json
#   lab/evolution/run.sh --accept    makes expected.json from the outcomes
#
# `make lab-test` runs these tests with all others. Build first: make lab-build.
set -eu
cd "$(dirname "$0")/../.."
case "${1:-}" in
  "") unset EVOLUTION_ACCEPT ;;
  --accept) export EVOLUTION_ACCEPT=1 ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac

mkdir -p lab/out
: >lab/out/evolution.jsonl
cargo test --quiet --release --locked --target-dir target --manifest-path lab/rust/Cargo.toml --package lab-evolution
lab/.venv/bin/python -m pytest --quiet -p no:cacheprovider lab/evolution/python
mvn --quiet --batch-mode -f lab/java/pom.xml test -Dtest='io.rawline.lab.evolution.*'

# Every format has every outcome, and where two libraries read the same format they agree.
exec lab/.venv/bin/python lab/evolution/outcomes.py "$@"
