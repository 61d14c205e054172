package redis

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options say where a server is and who we are.
type Options struct {
	Addr string // host and port, or the path of a socket
	Unix bool   // Addr is a socket's
	TLS  *tls.Config

	Username, Password, ClientName string
	DB                             int

	DialTimeout time.Duration
	Timeout     time.Duration // how long the server may be silent while a call waits

	Now func() time.Time // for these times; default time.Now

	Several bool // the URL names more than one server, or a sentinel's
}

// Parse reads redis://user:password@host:port/database, rediss: for TLS, or
// unix://user:password@/path?db=n. Parameters are db, dial_timeout, skip_verify and
// client_name; others of the usual ones have no meaning here.
func Parse(u *url.URL) (o Options, err error) {
	o.Addr = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	switch u.Scheme {
	case "unix":
		o.Unix, o.Addr = true, strings.TrimSpace(u.Path)
	case "rediss", "valkeys":
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(u.Hostname(), "localhost")}
	case "redis", "valkey":
	default:
		return o, errors.New("redis: another scheme")
	}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	if _, db, ok := strings.Cut(u.Path, "/"); ok && !o.Unix {
		o.DB, err = strconv.Atoi(db)
		if err != nil {
			return o, err
		}
	}
	q := u.Query()
	if q.Has("db") {
		o.DB, err = strconv.Atoi(q.Get("db"))
		if err != nil {
			return o, err
		}
	}
	for _, name := range []string{"dial_timeout", "write_timeout"} {
		if !q.Has(name) {
			continue
		}
		d, err := time.ParseDuration(q.Get(name))
		if err != nil {
			return o, err
		}
		if name == "dial_timeout" {
			o.DialTimeout = d
		}
	}
	if o.TLS != nil && q.Has("skip_verify") {
		skip, err := strconv.ParseBool(cmp.Or(q.Get("skip_verify"), "true"))
		if err != nil {
			return o, err
		}
		o.TLS.InsecureSkipVerify = skip
	}
	o.ClientName = q.Get("client_name")
	o.Several = q.Has("addr") || q.Get("master_set") != ""
	return o, nil
}
