#!/bin/sh
# Starts rawline with a low limit on open files, as some systems do.
ulimit -S -n 256
exec "$RAWLINE" "$@"
