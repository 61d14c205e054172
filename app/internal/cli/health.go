package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/client"
)

// healthTime is how long a server may take to answer: longer than it waits for its store.
const healthTime = 10 * time.Second

// A probe is a run of health.
type probe struct {
	env  *env.Env
	addr string // as serve has it
	cert string
	live bool // it asks for the process, not for the store
}

func healthCmd(e *env.Env) *cobra.Command {
	p := probe{env: e}
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it is ready, as health checks do",
		Long: `Ask a server whether it is ready, as health checks do: exit code 0 if it is, 7 if not.

No token is needed. It asks the address that serve was given, on this machine, and so
reads POSTHOUSE_ADDR, PORT and POSTHOUSE_TLS_CERT as serve does: in a container it needs no
flags. A server with that certificate is trusted, whatever name is in it. With --server
it asks another.`,
		Example: `  posthouse health
  posthouse health --live
  posthouse health --addr 0.0.0.0:8443 --tls-cert cert.pem`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.run(cmd.Context(), cmd.Flags().Changed("server"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.addr, "addr", host.DefaultAddr, "address that serve listens on")
	settings.FallBack(f, "addr", settings.Port)
	f.StringVar(&p.cert, "tls-cert", "", "certificate that serve has, PEM")
	f.BoolVar(&p.live, "live", false, "ask whether the process is alive, whatever its store does")
	return cmd
}

// run asks; the server that --server names if it was given.
func (p *probe) run(ctx context.Context, elsewhere bool) error {
	c, err := p.client(elsewhere)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	path, says := "/readyz", "ready"
	if p.live {
		path, says = "/healthz", "alive"
	}
	return env.Get(ctx, p.env, c, path, nil, func(a *struct {
		Status string   `json:"status"`
		Weak   []string `json:"weak,omitempty"`
	}) {
		p.env.Line("%s is %s", c.Server(), says)
		for _, w := range a.Weak {
			p.env.Line("warning: the store may lose what it acknowledged: %s", w)
		}
	})
}

// client returns a client without a token.
func (p *probe) client(elsewhere bool) (*client.Client, error) {
	once := &client.Options{Retries: -1} // whoever asks, asks again
	if elsewhere {
		return client.New(p.env.Server, once)
	}
	addr, err := reachable(p.addr)
	if err != nil {
		return nil, err
	}
	if p.cert == "" {
		return client.New("http://"+addr, once)
	}
	leaf, err := leafOf(p.cert)
	if err != nil {
		return nil, err
	}
	return client.New("https://"+addr, &client.Options{Retries: -1, HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: pinned(leaf)}}})
}

// reachable returns an address of this machine for one that is listened on.
func reachable(addr string) (string, error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: "addr", Message: "is not HOST:PORT", Hint: "as in " + host.DefaultAddr}
	}
	ip, err := netip.ParseAddr(name)
	switch {
	case name == "", err == nil && ip == netip.IPv4Unspecified():
		name = "127.0.0.1"
	case err == nil && ip == netip.IPv6Unspecified():
		name = "::1"
	}
	return net.JoinHostPort(name, port), nil
}

// leafOf returns the first certificate in a file.
func leafOf(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls-cert", Message: "cannot be read", Err: err}
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls-cert", Message: "has no certificate in PEM"}
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls-cert", Message: "has no certificate", Err: err}
	}
	return block.Bytes, nil
}

// pinned trusts one certificate, whatever its name and signer are: a server is called by an
// address here that need not be in it.
func pinned(leaf []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection is stricter
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, leaf) {
				return errors.New("the server has another certificate than that of --tls-cert")
			}
			return nil
		},
	}
}
