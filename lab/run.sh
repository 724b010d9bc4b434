#!/bin/sh
# One run of the laboratory: writes the messages, checks that the languages read each other, measures, makes the page.
#
#   lab/run.sh quick     two messages at their base size, about 3 minutes once it is built; the page is lab/out/report.html
#   lab/run.sh full      everything, about 35 minutes; fills in docs/wire-formats.md, and puts page and raw results beside it
#
# What is measured must be built: `make lab-build`. Leave the machine alone meanwhile. Every figure is appended to
# lab/out/results.jsonl when it is had (Python's at its end), so that a run that is broken off has lost none of them.
set -eu
case "${1:-}" in
  quick | full) ;;
  -h | --help)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."

for built in lab/rust/target/release/lab-rust lab/rust/target/release/lab-report lab/java/target/lab-java.jar lab/.venv/bin/python; do
  [ -e "$built" ] || { echo "lab/run.sh: $built is not built yet: make lab-build" >&2; exit 1; }
done
command -v java >/dev/null || { echo "lab/run.sh: there is no java: install a JDK 17, and then make lab-build" >&2; exit 1; }

LAB_RUN=$(date -u +%Y%m%dT%H%M%SZ)
LAB_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# Figures of code that is in no commit must not bear one's name.
[ "$LAB_COMMIT" = unknown ] || git diff --quiet HEAD -- crates python java lab || LAB_COMMIT=$LAB_COMMIT-changed
export LAB_RUN LAB_COMMIT

rust() { lab/rust/target/release/lab-rust "$@"; }
java_() { java -jar lab/java/target/lab-java.jar "$@"; }
python() { (cd lab/python && ../.venv/bin/python -m lab "$@"); }
report() { lab/rust/target/release/lab-report "$@"; }
step() { printf '\n== %s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# The sizes come last and say that a run is whole; the report takes one that is not only where it is named.
whole=no
ended() {
  code=$?
  [ $whole = yes ] || printf '\nlab/run.sh: broken off. What was measured is in lab/out/results.jsonl; to see it:\n  %s\n' \
    "lab/rust/target/release/lab-report page --run $LAB_RUN" >&2
  exit $code
}
trap ended EXIT
trap 'exit 130' INT TERM

mkdir -p lab/out
step "messages"
lab/.venv/bin/python lab/cases/generate.py

step "conformance: each writes, then each reads what all wrote"
rm -rf lab/out/wire lab/out/conformance.jsonl
for language in rust java_ python; do $language conform write; done
failed=0
for language in rust java_ python; do
  # What does not conform gets no figure; the others are measured all the same.
  $language conform read || { failed=1; echo "lab/run.sh: ${language%_} does not read everything; the page says what" >&2; }
done

for language in rust java_ python; do
  step "measuring: ${language%_}"
  $language bench "--$1" || { failed=1; echo "lab/run.sh: not all of ${language%_} was measured; see above" >&2; }
done

step "report"
report sizes
whole=yes
if [ "$1" = full ]; then
  report page
  report docs
  cp lab/out/report.html docs/wire-formats/
  gzip -9nc lab/out/conformance.jsonl >docs/wire-formats/conformance.jsonl.gz
  grep -F "\"$LAB_RUN\"" lab/out/results.jsonl | gzip -9nc >docs/wire-formats/results.jsonl.gz
else
  report page --run "$LAB_RUN"
fi
exit $failed
