#!/bin/sh
# Before a removal, not before an upgrade.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now rawline.service
fi
