package host

import (
	"crypto/tls"
	"net"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

func (h *Host) listen(o *Options) error {
	secure := o.Cert != "" || o.Key != ""
	if err := server.CheckListen(o.Addr, secure, o.AllowInsecure); err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return &posthouse.Error{
			Code: posthouse.CodeLocked, Message: "cannot listen on " + o.Addr, Err: err,
			Hint: "if another posthouse is running there, use it, or choose another with --addr",
		}
	}
	at := callable(l.Addr())
	h.Listener, h.URL = l, "http://"+at
	if !secure {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls-cert", Message: "cannot be used", Err: err, Hint: "give both --tls-cert and --tls-key"}
	}
	h.Listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	h.URL = "https://" + at
	return nil
}

// callable returns an address of this machine for one that is listened on: clients cannot call all
// addresses at once.
func callable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
