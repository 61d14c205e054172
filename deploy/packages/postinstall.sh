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
	case "$1 $2" in
	"configure "?* | [2-9]*)
		# A server that does not start says why in its journal; the package is installed.
		systemctl try-restart posthouse.service || true
		;;
	esac
fi
