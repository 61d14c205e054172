package mail

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// A conn is a connection to the server. It ends with its context.
type conn struct {
	client *gomail.Client
	raw    net.Conn
	stop   func() bool
	ctx    context.Context
}

// answerTime is how long the server may take for one answer.
const answerTime = 30 * time.Second

// dial connects, turns to TLS and logs in.
func (s *Sender) dial(ctx context.Context) (*conn, error) {
	port, err := strconv.Atoi(s.port)
	if err != nil {
		return nil, err
	}
	c := &conn{ctx: ctx, stop: func() bool { return true }}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.raw = raw
		c.stop = context.AfterFunc(c.ctx, func() { _ = raw.Close() }) // also in the middle of an answer
		if s.tls == Implicit {
			return tls.Client(raw, s.settings), nil
		}
		return raw, nil
	}
	options := []gomail.Option{
		gomail.WithPort(port), gomail.WithTimeout(answerTime), gomail.WithTLSConfig(s.settings), gomail.WithDialContextFunc(dial),
		gomail.WithHELO(s.domain()), gomail.WithTLSPolicy(map[string]gomail.TLSPolicy{StartTLS: gomail.TLSMandatory, Implicit: gomail.TLSOpportunistic, None: gomail.NoTLS}[s.tls]),
	}
	if s.user != "" {
		password, err := s.password()
		if err != nil {
			return nil, err
		}
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.user), gomail.WithPassword(password))
	}
	c.client, err = gomail.NewClient(s.host, options...)
	if err != nil {
		return nil, err
	}
	if err := c.client.DialWithContext(ctx); err != nil {
		c.stop()
		if c.raw != nil {
			_ = c.raw.Close()
		}
		return nil, err
	}
	return c, nil
}

func (c *conn) isOpen() bool { return c.ctx.Err() == nil && c.client.Reset() == nil }

// close says goodbye, and ends the connection.
func (c *conn) close() {
	if c.ctx.Err() == nil {
		_ = c.client.Close()
	}
	c.stop()
	_ = c.raw.Close()
}
