package cli_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/internal/proof/certtest"
)

// TestHealth asks servers as a container's health check does: by the address that serve has,
// over TLS by the certificate alone, and after the end.
func TestHealth(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var out clitest.Buffer
		d := clitest.New(t)
		flags := []string{"--ephemeral"}
		if secure {
			files := certtest.New(t, "posthouse.example.com")
			flags = append(flags, "--tls-cert", files.Cert, "--tls-key", files.Key)
			d.Vars = map[string]string{"POSTHOUSE_TLS_CERT": files.Cert}
		}
		h, stop := d.Live(&out, flags...)
		_, port, err := net.SplitHostPort(h.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(code int, more ...string) string {
			return d.Run(code, append([]string{"health", "--addr", "0.0.0.0:" + port}, more...)...)
		}
		clitest.Wants(t, "health", ask(posthouse.ExitOK), h.URL+" is ready")
		clitest.Wants(t, "health --live", ask(posthouse.ExitOK, "--live"), h.URL+" is alive")
		clitest.Wants(t, "health --json", ask(posthouse.ExitOK, "--json"), `"status": "ok"`)
		if secure {
			other := certtest.New(t, "127.0.0.1")
			clitest.Wants(t, "health of a server with another certificate", ask(posthouse.ExitUnavailable, "--tls-cert", other.Cert), "another certificate")
		}
		stop()
		clitest.Wants(t, "health of a server that ended", ask(posthouse.ExitUnavailable), "no server answers at "+h.URL)
	}
	d := clitest.New(t)
	clitest.Wants(t, "health of no address", d.Run(posthouse.ExitUsage, "health", "--addr", "8095"), "addr", "HOST:PORT")
	clitest.Wants(t, "health without the certificate", d.Run(posthouse.ExitUsage, "health", "--tls-cert", "missing.pem"), "tls-cert", "cannot be read")
}

// TestServiceManagerIsTold starts a server with a manager's socket, as systemd does for a unit
// of Type=notify: the manager is told once requests are taken, and when the server ends.
func TestServiceManagerIsTold(t *testing.T) {
	dir, err := os.MkdirTemp("", "notify") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("there are no such sockets here: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		t.Helper()
		if err := manager.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var message [256]byte
		n, err := manager.Read(message[:])
		if err != nil {
			t.Fatalf("the manager was told nothing: %v", err)
		}
		return string(message[:n])
	}
	var out clitest.Buffer
	d := clitest.New(t)
	d.Vars = map[string]string{"NOTIFY_SOCKET": socket}
	h, stop := d.Live(&out, "--ephemeral")
	if got, want := told(), "READY=1\nSTATUS=serving "+h.URL+"\n"; got != want {
		t.Errorf("at the start the manager was told %q, want %q", got, want)
	}
	d.Run(posthouse.ExitOK, "health", "--server", h.URL)
	stop()
	if got := told(); !strings.HasPrefix(got, "STOPPING=1\n") {
		t.Errorf("at the end the manager was told %q", got)
	}

	// A manager that is gone keeps no server from serving.
	manager.Close()
	h, stop = d.Live(&out, "--ephemeral")
	d.Run(posthouse.ExitOK, "health", "--server", h.URL)
	stop()
}
