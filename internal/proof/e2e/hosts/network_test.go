//go:build linux

package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A network is hosts that are namespaces, and a switch between them in another. Nothing of it
// is in the namespace of the test.
type network struct {
	t    *testing.T
	name string
}

// newNetwork makes a network. Where no namespace can be made, the test is skipped; where one
// can, and the tool is missing, only without POSTHOUSE_REQUIRE_SERVICES.
func newNetwork(t *testing.T, hosts ...string) *network {
	t.Helper()
	n := &network{t, fmt.Sprint("ph", os.Getpid())}
	probe := exec.Command("true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	possible := probe.Run() == nil
	_, err := exec.LookPath("ip")
	if possible && err == nil {
		out, merr := exec.Command("ip", "netns", "add", n.ns("switch")).CombinedOutput()
		if merr != nil { // as in a container that may not mount
			possible, err = false, fmt.Errorf("%w: %s", merr, out)
		}
	}
	if !possible || err != nil && os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
		t.Skipf("THREE HOSTS ARE NOT TESTED: no network namespaces can be made here (root and iproute2 are needed): %v", err)
	}
	if err != nil {
		t.Fatalf("network namespaces can be made here, but not without iproute2: %v", err)
	}
	t.Cleanup(func() { n.ip("netns", "del", n.ns("switch")) })
	n.ip("-n", n.ns("switch"), "link", "add", "br0", "type", "bridge")
	n.ip("-n", n.ns("switch"), "link", "set", "br0", "up")
	for i, h := range hosts {
		n.ip("netns", "add", n.ns(h))
		t.Cleanup(func() { n.ip("netns", "del", n.ns(h)) })
		n.ip("-n", n.ns(h), "link", "set", "lo", "up")
		n.ip("-n", n.ns("switch"), "link", "add", h, "type", "veth", "peer", "name", "eth0", "netns", n.ns(h))
		n.ip("-n", n.ns("switch"), "link", "set", h, "master", "br0", "up")
		n.ip("-n", n.ns(h), "addr", "add", fmt.Sprintf("%s/24", address(i)), "dev", "eth0")
		n.ip("-n", n.ns(h), "link", "set", "eth0", "up")
	}
	return n
}

// address is that of the i-th host.
func address(i int) string { return fmt.Sprint("10.93.7.", i+1) }

func (n *network) ns(host string) string { return n.name + "-" + host }

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut takes a host off the switch: what it sends is lost, without an error.
func (n *network) cut(host string) { n.ip("-n", n.ns("switch"), "link", "set", host, "down") }

// heal puts it back.
func (n *network) heal(host string) { n.ip("-n", n.ns("switch"), "link", "set", host, "up") }

// command is this test's own binary as a process on a host.
func (n *network) command(host, role string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", n.ns(host), self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}
