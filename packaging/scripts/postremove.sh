#!/bin/sh
# After a removal. Topics, settings that were changed and the user stay, also when the package is purged.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
