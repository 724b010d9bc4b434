#!/bin/sh
# One run of the laboratory: writes the messages, checks that the languages read each other, measures, makes the page.
#
#   lab/run.sh quick     two messages at their base size, about 3 minutes once it is built; the page is lab/out/report.html
#   lab/run.sh full      everything, about 30 minutes; fills in docs/wire-formats.md, and puts page and raw results beside it
#
# What is measured must be built: `make lab-build`. Leave the machine alone meanwhile.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in
  quick | full) ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac

LAB_RUN=$(date -u +%Y%m%dT%H%M%SZ)
LAB_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
export LAB_RUN LAB_COMMIT

rust() { lab/rust/target/release/lab-rust "$@"; }
java_() { java -jar lab/java/target/lab-java.jar "$@"; }
python() { (cd lab/python && ../.venv/bin/python -m lab "$@"); }
report() { lab/rust/target/release/lab-report "$@"; }
step() { printf '\n== %s\n' "$*" >&2; }

mkdir -p lab/out
step "messages"
python3 lab/cases/generate.py

step "conformance: each writes, then each reads what all wrote"
rm -rf lab/out/wire lab/out/conformance.jsonl
for language in rust java_ python; do $language conform write; done
for language in rust java_ python; do $language conform read; done

for language in rust java_ python; do
  step "measuring: ${language%_}"
  $language bench "--$1"
done

step "report"
report sizes
if [ "$1" = full ]; then
  report page
  report docs
  cp lab/out/report.html docs/wire-formats/
  gzip -9nc lab/out/conformance.jsonl >docs/wire-formats/conformance.jsonl.gz
  grep -F "\"$LAB_RUN\"" lab/out/results.jsonl | gzip -9nc >docs/wire-formats/results.jsonl.gz
else
  report page --run "$LAB_RUN"
fi
