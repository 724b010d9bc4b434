#!/bin/sh
# Reports which of the tools that build the laboratory are missing or too old, and how to install them.
#
#   lab/check.sh [PYTHON]      PYTHON is the interpreter to measure, python3 by default
#   lab/check.sh --rust        only what `make lab-mine` needs
set -u
python="${1:-python3}"
missing=0

lacks() {
  printf 'the laboratory needs %s\n' "$*" >&2
  missing=1
}

command -v cargo >/dev/null || lacks "Rust 1.95 or newer: install it with rustup"
command -v cc >/dev/null || lacks "a C compiler, for zstd: apt-get install build-essential, or your system's equivalent"
[ "$python" != --rust ] || exit $missing

if ! command -v "$python" >/dev/null; then
  lacks "Python 3.11 or newer; \"$python\" does not exist: make lab PYTHON=python3.11"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  lacks "Python 3.11 or newer; \"$python\" is $("$python" --version 2>&1): make lab PYTHON=python3.11"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  lacks "Python's venv, a separate package on this system: apt-get install python3-venv"
fi

java_version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
if [ -z "$java_version" ] || ! command -v javac >/dev/null; then
  lacks "a JDK 17 or newer (java and javac): apt-get install openjdk-17-jdk-headless, or your system's equivalent"
elif [ "$java_version" -lt 17 ]; then
  lacks "a JDK 17 or newer; this java is $java_version: set PATH and JAVA_HOME to the newer one"
fi
command -v mvn >/dev/null || lacks "Maven: apt-get install maven, or your system's equivalent"

exit $missing
