#!/bin/sh
# Runs the tests' S3 server by hand: the folders of DIR are its buckets, on 127.0.0.1:PORT (7070).
#
#   tools/s3-server.sh DIR [PORT]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
server=${RAWLINE_S3_SERVER:-$root/.tools/bin/versitygw}
dir=${1:?"usage: tools/s3-server.sh DIR [PORT]"}
port=${2:-7070}

[ -x "$server" ] || make -C "$root" tools
mkdir -p "$dir"
echo "export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtesttest" >&2
ROOT_ACCESS_KEY=test ROOT_SECRET_KEY=testtesttest exec "$server" --port "127.0.0.1:$port" --quiet posix "$dir"
