#!/usr/bin/env bash
# Builds the container image with buildah, from nothing: the binary, the C library that it needs, the authorities that
# buckets' certificates are compared with, and a user. `image.sh TREE VERSION ARCHIVE`, with packaging/tree.py's tree.
set -euo pipefail
tree=$1 version=$2 archive=$3
authorities=/etc/ssl/certs/ca-certificates.crt

container=$(buildah from scratch)
root=$(mktemp -d)
trap 'buildah rm "$container" >/dev/null; rm -rf "$root"' EXIT

install -D "$tree/bin/rawline" "$root/usr/bin/rawline"
install -D --mode=644 --target-directory="$root/usr/share/doc/rawline" "$tree"/share/doc/rawline/*LICENSE*
install -D --mode=644 "$authorities" "$root$authorities"
# This machine's C library, by the paths that the binary asks for. Names of hosts are resolved by it.
ldd "$tree/bin/rawline" | grep -o '/[^ ]*' | while read -r library; do
  install -D --mode=755 "$library" "$root$library"
done
mkdir -p "$root/etc"
echo 'rawline:x:65532:65532::/var/lib/rawline:/usr/sbin/nologin' >"$root/etc/passwd"
echo 'rawline:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
buildah add --quiet "$container" "$root" / >/dev/null

data=$(mktemp -d)
chmod 0700 "$data"
for folder in /var/lib/rawline /var/cache/rawline; do
  buildah add --quiet --chown=65532:65532 "$container" "$data" "$folder" >/dev/null
done
rmdir "$data"

# The commands of the Dockerfile, which builds another image where there is Docker.
buildah config --user=65532:65532 --port=51313 --port=9092 --stop-signal=SIGTERM --workingdir=/var/lib/rawline \
  --entrypoint='["/usr/bin/rawline"]' \
  --cmd='serve --listen 0.0.0.0:51313 --storage /var/lib/rawline --cache-dir /var/cache/rawline' \
  --label=org.opencontainers.image.title=Rawline --label="org.opencontainers.image.version=$version" \
  --label=org.opencontainers.image.licenses=Apache-2.0 "$container"
rm -f "$archive"
buildah commit --quiet --disable-compression=false --format=oci --timestamp="${SOURCE_DATE_EPOCH:-0}" "$container" \
  "oci-archive:$archive:rawline:$version" >/dev/null
