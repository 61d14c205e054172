#!/bin/sh
# Before posthouse is removed, and not before an upgrade. Debian says "remove", RPM 0.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --now posthouse.service
	fi
fi
