#!/bin/sh
# One run of the laboratory: generates the messages, checks that the languages read each other, measures, builds the
# page.
#
#   lab/run.sh quick     two messages at their base size, about 3 minutes once it is built
#   lab/run.sh full      everything, about an hour; also updates docs/wire-formats.md
#
# LAB_FILTER, a regular expression, measures some of the rows only, such as those of one format: LAB_FILTER=values.
#
# The page is lab/out/report.html. Build first: `make lab-build`, for a full run with LAB_PROFILE=measured. Leave the
# machine alone during a full run. Every figure is appended to lab/out/results.jsonl as soon as it is measured (Python's
# at the end of Python), so an interrupted run loses none of them.
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

# Published figures are built with link-time optimization; a quick run is not.
if [ "$1" = full ]; then profile=measured; else profile=release; fi
binaries=target/$profile
for built in "$binaries/lab-rust" "$binaries/lab-report" lab/java/target/lab-java.jar lab/.venv/bin/python; do
  [ -e "$built" ] || { echo "lab/run.sh: $built does not exist: make lab-build LAB_PROFILE=$profile" >&2; exit 1; }
done
command -v java >/dev/null || { echo "lab/run.sh: java is missing: install a JDK 17, then make lab-build" >&2; exit 1; }

LAB_RUN=$(date -u +%Y%m%dT%H%M%SZ)
LAB_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# Figures of uncommitted code must not be attributed to a commit.
[ "$LAB_COMMIT" = unknown ] || git diff --quiet HEAD -- crates python java lab || LAB_COMMIT=$LAB_COMMIT-changed
export LAB_RUN LAB_COMMIT

rust() { "$binaries/lab-rust" "$@"; }
java_() { java -jar lab/java/target/lab-java.jar "$@"; }
python() { (cd lab/python && ../.venv/bin/python -m lab "$@"); }
report() { "$binaries/lab-report" "$@"; }
step() { printf '\n== %s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# The sizes come last and mark a run as complete. The report shows an incomplete run only if it is named.
whole=no
ended() {
  code=$?
  [ $whole = yes ] || printf '\nlab/run.sh: interrupted; results are in lab/out/results.jsonl; to see them:\n  %s\n' \
    "$binaries/lab-report page --run $LAB_RUN" >&2
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
  $language conform read || { failed=1; echo "lab/run.sh: ${language%_} does not read everything; see the page" >&2; }
done

for language in rust java_ python; do
  step "measuring: ${language%_}"
  $language bench "--$1" --filter "${LAB_FILTER:-}" || {
    failed=1
    echo "lab/run.sh: not all of ${language%_} was measured; see above" >&2
  }
done

step "report"
if [ "$1" = full ]; then report sizes; else report sizes --quick; fi
whole=yes
if [ "$1" = full ]; then
  report page
  report docs
else
  report page --run "$LAB_RUN"
fi
exit $failed
