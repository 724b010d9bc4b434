#!/bin/sh
# Makes lab/.venv and puts into it what the Python side of the laboratory needs, the rawline package of this repository included.
#
#   lab/python/setup.sh [PYTHON]      PYTHON is the interpreter to measure (3.11 or newer), python3 if none is given
#
# Does nothing where nothing has changed since the last time. Needs Rust for the package.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/../.venv"
package="$here/../../python"

stamp="$venv/.stamp"
now=$(cat "$here/requirements.txt" "$here/../../Cargo.lock"; find "$package" "$package/../crates" -type f \
  \( -name '*.py' -o -name '*.pyi' -o -name '*.rs' -o -name '*.toml' \) -not -path '*/target/*' -not -path '*/.venv/*' -print0 |
  sort -z | xargs -0 cat | cksum)
if [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && [ "$now" = "$(cat "$stamp")" ]; then
  exit 0
fi

failed() {
  printf 'lab/python/setup.sh: %s\n' "$*" >&2
  exit 1
}
"${1:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  failed "the laboratory needs Python 3.11 or newer: make lab PYTHON=python3.11"
[ -x "$venv/bin/python" ] || "${1:-python3}" -m venv "$venv" || failed "no $venv; apt-get install python3-venv may help"
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
install --requirement "$here/requirements.txt" ||
  failed "pip could not install lab/python/requirements.txt; the first time it needs the network"
install --force-reinstall --no-deps "$package" || failed "the package in python/ could not be built; it needs Rust, and Maturin of the network"
printf '%s\n' "$now" >"$stamp"
