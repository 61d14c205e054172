// Package systemd tells a service manager how a server is: a unit of Type=notify has started
// once the server takes requests, not when its process is there.
package systemd

import (
	"fmt"
	"net"
)

// SocketVariable names the manager's socket, in the environment of a service.
const SocketVariable = "NOTIFY_SOCKET"

// States that a manager knows; sd_notify(3) lists more.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Status is a line for people, which systemctl status shows.
func Status(line string) string { return "STATUS=" + line }

// Notify sends states to the manager at a socket, in one datagram. A socket of "" is that of
// a process that no manager asked, and Notify sends nothing. A name with @ in front is in
// Linux's abstract namespace.
func Notify(socket string, states ...string) error {
	if socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the service manager: %w", err)
	}
	defer c.Close()
	message := ""
	for _, s := range states {
		message += s + "\n"
	}
	if _, err := c.Write([]byte(message)); err != nil {
		return fmt.Errorf("the service manager: %w", err)
	}
	return nil
}
