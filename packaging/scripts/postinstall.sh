#!/bin/sh
# After an installation or an upgrade: the unit's user, and the unit, which an administrator starts after a look at the
# settings. An upgrade restarts a running broker.
set -e
if ! getent passwd rawline >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/rawline --shell /usr/sbin/nologin \
    --comment 'Rawline event broker' rawline
fi
# The settings may have keys.
chown root:rawline /etc/rawline /etc/rawline/rawline.env
chmod 0750 /etc/rawline
install --directory --owner=rawline --group=rawline --mode=0750 /var/lib/rawline
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart rawline.service
fi
