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

[ -x "$venv/bin/python" ] || "${1:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$package"
printf '%s\n' "$now" >"$stamp"
