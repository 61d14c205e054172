package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/base/build"
)

// served asks the server of --server, and looks at the port of --addr if there is no server.
func (x *examination) served(ctx context.Context) {
	const check = "server"
	c, err := x.env.Client()
	if err != nil {
		x.failed(check, err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var version struct{ Version string }
	err = c.Get(ctx, "/version", nil, &version)
	switch {
	case errors.Is(err, posthouse.ErrClosed) && client.Local(c.Server()):
		x.add(check, Note, "start one: posthouse serve; or say where it is with --server", "no server answers at "+c.Server())
		x.port()
		return
	case err != nil:
		x.failed(check, err)
		return
	}
	if own := build.Read(x.version).Version; version.Version != own {
		x.add(check, Note, "", c.Server()+" is of version "+version.Version+", this command of "+own)
	}
	x.clock(ctx, c)
	if err := c.Get(ctx, "/readyz", nil, nil); err != nil {
		x.failed(check, err)
	} else {
		x.ok(check, c.Server()+" is ready")
	}
	var me struct{ Name, Role string }
	if err := c.Get(ctx, "/api/me", nil, &me); err != nil {
		x.failed("token of commands", err)
		return
	}
	x.ok("token of commands", "it is that of "+me.Name+", "+me.Role)
}

// clock compares this machine's time with the server's.
func (x *examination) clock(ctx context.Context, c *client.Client) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server()+"/healthz", nil)
	if err != nil {
		return // it was asked before
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return // the next check says so
	}
	_ = resp.Body.Close() // the header is all that counts
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if apart := time.Since(at).Abs(); err == nil && apart > clockLimit {
		x.add("clock", Warning, "set both by NTP: expiries and leases are by the server's", "this machine and the server are "+apart.Round(time.Second).String()+" apart")
	}
}

// port looks whether serve could listen.
func (x *examination) port() {
	const check = "port"
	name, _, err := net.SplitHostPort(x.addr)
	if err != nil {
		x.add(check, Fault, "as in 127.0.0.1:8095", "addr is not HOST:PORT")
		return
	}
	if ip, err := netip.ParseAddr(name); name != "" && name != "localhost" && (err != nil || !ip.IsLoopback() && !ip.IsUnspecified()) {
		x.add(check, Note, "", x.addr+" is not looked at: it is no address of every machine")
		return
	}
	l, err := net.Listen("tcp", x.addr)
	switch {
	case err == nil:
		_ = l.Close() // nothing came
		x.ok(check, x.addr+" is free")
	case strings.Contains(err.Error(), "permission"):
		x.add(check, Fault, "choose a port of 1024 or more, or let the service manager bind it", x.addr+" may not be listened on")
	default:
		x.add(check, Fault, "find the program that listens there, as with ss -ltnp, or choose another with --addr", x.addr+" is taken: "+err.Error())
	}
}
