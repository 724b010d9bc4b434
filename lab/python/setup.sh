#!/bin/sh
# Creates lab/.venv with the requirements of the laboratory's Python side, including this repository's rawline package.
#
#   lab/python/setup.sh [PYTHON]       PYTHON is the interpreter to measure (3.11 or newer), python3 by default
#   lab/python/setup.sh --libraries    only the pinned libraries and tools, without the rawline package
#
# Does nothing if nothing has changed since the last time. The package needs Rust. If LAB_PACKAGE names a folder with a
# built package, that one is used: a debug build is enough for tests, and says nothing about speed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/../.venv"
package="$here/../../python"
libraries_only=no
if [ "${1:-}" = --libraries ]; then
  libraries_only=yes
  shift
fi
python="${1:-${PYTHON:-python3}}"

failed() {
  printf 'lab/python/setup.sh: %s\n' "$*" >&2
  exit 1
}
is_current() { [ -f "$venv/$1" ] && [ "$2" = "$(cat "$venv/$1")" ]; }
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

libraries=$(cksum <"$here/requirements.txt")
if ! is_current .libraries "$libraries"; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    failed "the laboratory needs Python 3.11 or newer: make lab PYTHON=python3.11"
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || failed "cannot create $venv: apt-get install python3-venv"
  install --requirement "$here/requirements.txt" ||
    failed "pip could not install lab/python/requirements.txt; the first time it needs the network"
  printf '%s\n' "$libraries" >"$venv/.libraries"
fi
[ $libraries_only = no ] || exit 0

linked=$(echo "$venv"/lib/python3.*/site-packages)/rawline-linked.pth
if [ -n "${LAB_PACKAGE:-}" ]; then
  [ -f "$LAB_PACKAGE/rawline/__init__.py" ] ||
    failed "LAB_PACKAGE=$LAB_PACKAGE has no package; make test-python builds one"
  rm -f "$venv/.package"
  "$venv/bin/python" -m pip uninstall --quiet --yes --disable-pip-version-check rawline 2>/dev/null || :
  printf '%s\n' "$LAB_PACKAGE" >"$linked"
  exit 0
fi
rm -f "$linked"

sources=$(cat "$here/../../Cargo.lock"; find "$package" "$package/../crates" -type f \
  \( -name '*.py' -o -name '*.pyi' -o -name '*.rs' -o -name '*.toml' \) -not -path '*/target/*' -not -path '*/.venv/*' \
  -print0 |
  sort -z | xargs -0 cat | cksum)
sources=$(printf '%s %s\n' "$libraries" "$sources")
is_current .package "$sources" && exit 0
install --force-reinstall --no-deps "$package" ||
  failed "the package in python/ could not be built; it needs Rust, and the first time the network for Maturin"
printf '%s\n' "$sources" >"$venv/.package"
