#!/bin/sh
# After posthouse was installed or upgraded. Debian says "configure" and the version of before,
# RPM how many versions are installed. Nothing is started for the first time: what it listens on
# is decided in /etc/posthouse/posthouse.env.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers posthouse.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if [ "$1" = configure ] && [ -n "$2" ] || [ "$1" = 2 ]; then
		systemctl try-restart posthouse.service
	fi
fi
