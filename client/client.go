package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// A Client talks to one server. Make one with [New]. It is safe for concurrent use.
type Client struct {
	base string // such as http://127.0.0.1:8095
	opt  Options
}

// Options configure a [Client]. Nil is the zero value.
type Options struct {
	Token string       // sent as a bearer token; never printed; "" is not sent
	HTTP  *http.Client // default: one that follows no redirect and waits ten minutes for an answer to begin

	// Retries is how often a request is sent again that failed on the way, or that the server was too
	// busy for: 0 is 3, a negative number never. A POST is sent again with the same Idempotency-Key.
	Retries int

	Refused string // hint of the error where the token is refused, or missing; default: the server's
	Away    string // hint of the error where no server answers; default: one about the address
}

// New returns a client for the server at an address, such as http://127.0.0.1:8095. The token goes
// to that host only, and not over plain HTTP unless the host is this machine: [posthouse.ErrInvalid].
func New(server string, o *Options) (*Client, error) {
	c := &Client{base: strings.TrimRight(server, "/")}
	if o != nil {
		c.opt = *o
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "server", Message: fmt.Sprintf("%q is no address of a server", redacted(server)),
			Hint: "write it as http://127.0.0.1:8095",
		}
	}
	if u.Scheme == "http" && c.opt.Token != "" && !loopback.Is(u.Hostname()) {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "server", Message: "is another machine reached without TLS: the token could be read on the way",
			Hint: "use https, or a tunnel to this machine",
		}
	}
	if c.opt.HTTP == nil {
		c.opt.HTTP = &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSHandshakeTimeout:   5 * time.Second,
				ResponseHeaderTimeout: 10 * time.Minute, // an approval answers when the effect is done
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	switch {
	case c.opt.Retries == 0:
		c.opt.Retries = 3
	case c.opt.Retries < 0:
		c.opt.Retries = 0
	}
	return c, nil
}

// Server returns the address of the server.
func (c *Client) Server() string { return c.base }

// Close closes connections that are not in use. A client can be used after it.
func (c *Client) Close() { c.opt.HTTP.CloseIdleConnections() }

// redacted returns an address without what stands before its host, which may be a password.
func redacted(address string) string {
	if at := strings.LastIndex(address, "@"); at >= 0 {
		return "xxxxx" + address[at:]
	}
	return address
}

// A Patch is a body for [Client.Do] that says how a state changes: as a JSON Patch, RFC 6902, if Data is
// a list, or else as a merge patch, RFC 7396.
type Patch struct{ Data json.RawMessage }

// media returns the type of a patch.
func (p *Patch) media() string {
	if strings.HasPrefix(strings.TrimSpace(string(p.Data)), "[") {
		return "application/json-patch+json"
	}
	return "application/merge-patch+json"
}

// Do sends body, if not nil, as JSON or as a [Patch], and reads the answer into out, if not nil: into a slice, the
// items of a list. It is for paths that have no method here; values on record come as the server's
// JSON has them. An answer of 300 and above is returned as the [posthouse.Error] it reports.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body, out any) error {
	r, err := newRequest(method, path, query, body)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, r, json.Unmarshal, out)
	return err
}

// Get is Do without a body.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.Do(ctx, http.MethodGet, path, query, nil, out)
}

// ask is Do with values on record as their bytes, if out has some: a body has strings in their place
// then, too.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, body, out any) error {
	if out != nil && holdsValues(reflect.TypeOf(out), nil) {
		query = exact(query)
	}
	r, err := newRequest(method, path, query, body)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, r, decode, out)
	return err
}

// do sends a request and reads the answer into out by read.
func (c *Client) do(ctx context.Context, r *request, read func([]byte, any) error, out any) (http.Header, error) {
	resp, err := c.send(ctx, c.opt.Retries, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(err)
	case len(data) > maxAnswer:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "answer", Message: "is larger than 64 MiB", Hint: "ask for fewer items at once"}
	case out == nil || len(data) == 0:
		return resp.Header, nil
	}
	items, err := itemsOf(data, out)
	if err == nil {
		err = read(items, out)
	}
	if err != nil {
		return nil, c.notAnAnswer(err)
	}
	return resp.Header, nil
}

// itemsOf returns the items of a list, if out is a slice for them, else the whole answer.
func itemsOf(data []byte, out any) ([]byte, error) {
	t := reflect.TypeOf(out).Elem()
	if t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Uint8 || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data, nil
	}
	var page struct{ Items json.RawMessage }
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, err
	}
	if page.Items == nil {
		return nil, errors.New("it has no items")
	}
	return page.Items, nil
}
