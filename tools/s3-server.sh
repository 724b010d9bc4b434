#!/bin/sh
# The S3 server that the tests start: installs it, or runs it by hand.
#
#   tools/s3-server.sh install         builds versitygw, pinned, into .tools/bin, unless it is there
#   tools/s3-server.sh run DIR [PORT]  serves the folders of DIR as buckets on 127.0.0.1:PORT (7070)
set -eu

version=1.8.0
root=$(cd "$(dirname "$0")/.." && pwd)
server=$root/.tools/bin/versitygw
stamp=$root/.tools/versitygw-$version

install() {
    if [ -x "$server" ] && [ -e "$stamp" ]; then
        return
    fi
    if ! command -v go >/dev/null; then
        echo "The tests run a real S3 server (versitygw), which is built with Go: install Go 1.24 or later, or set RAWLINE_S3_SERVER to a versitygw binary." >&2
        exit 1
    fi
    echo "building versitygw $version into .tools/bin, once" >&2
    mkdir -p "$root/.tools/bin"
    GOBIN="$root/.tools/bin" go install "github.com/versity/versitygw/cmd/versitygw@v$version"
    touch "$stamp"
}

case "${1:-}" in
install)
    install
    ;;
run)
    dir=${2:?"usage: tools/s3-server.sh run DIR [PORT]"}
    port=${3:-7070}
    install
    mkdir -p "$dir"
    echo "AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtesttest" >&2
    ROOT_ACCESS_KEY=test ROOT_SECRET_KEY=testtesttest exec "$server" --port "127.0.0.1:$port" --quiet posix "$dir"
    ;;
*)
    sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2
    exit 2
    ;;
esac
