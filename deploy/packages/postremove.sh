#!/bin/sh
# After posthouse was removed. /var/lib/posthouse stays, also with a purge: what was approved, and
# the key that signed it, is not the package's to delete.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
