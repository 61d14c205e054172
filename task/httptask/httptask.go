package httptask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// maxReply bounds what is read of an answer, in bytes: a slot and an input, in JSON.
const maxReply = 2 * wire.MaxRequest

// NewEngine returns the engine of a server, with an address like https://posthouse.example.
// The token goes to that host only, and without TLS only if the host is this machine:
// otherwise [posthouse.ErrInvalid]. A nil client is one that waits for answers as long as
// calls may take. Redirects are not followed.
func NewEngine(server, token string, client *http.Client) (task.Engine, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, refused("server", fmt.Sprintf("%.200q is no address of a server", server), "write it as https://posthouse.example")
	}
	if u.Scheme == "http" && !loopback.Is(u.Hostname()) {
		return nil, refused("server", "is another machine reached without TLS: the token could be read on the way", "use https, or a tunnel to this machine")
	}
	if token == "" || strings.ContainsAny(token, " \r\n") {
		return nil, refused("token", "is empty, or has spaces", "make one where the server's data directory is: posthouse token create --role worker")
	}
	if client == nil {
		client = newClient()
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &caller{base: strings.TrimRight(server, "/") + "/api/worker/", token: token, http: &own}
	return wire.NewClient(c.call), nil
}

func refused(field, message, hint string) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: message, Hint: hint}
}

// maxIdle is how many connections are kept: a worker claims by up to eight calls at once.
const maxIdle = 16

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     90 * time.Second,
	}}
}

type caller struct {
	base, token string
	http        *http.Client
}

func (c *caller) call(ctx context.Context, method string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxReply:
		return nil, posthouse.TooLarge("reply", len(data), maxReply)
	case resp.StatusCode != http.StatusOK:
		return nil, failure(resp.StatusCode, data)
	}
	return data, nil
}

// failure returns the error that an answer reports. One that says to try again, or that is
// not from a server of ours, is an error without a code: the call may be repeated.
func failure(status int, data []byte) error {
	var p problem.Details
	if err := json.Unmarshal(data, &p); err != nil || p.Code == "" {
		return fmt.Errorf("it answered with %d %s", status, http.StatusText(status))
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%s: %s", p.Code, cmp.Or(p.Detail, p.Title))
	case http.StatusUnauthorized, http.StatusMisdirectedRequest:
		p.Code = posthouse.CodeForbidden // a code that only HTTP has
	}
	return &posthouse.Error{
		Code: p.Code, Field: p.Field, Message: strings.TrimPrefix(cmp.Or(p.Detail, p.Title), p.Field+" "), Hint: p.Hint,
		Tail: p.Tail, Head: p.Head, Gate: p.Gate, Lease: p.Lease, Decision: p.Decision, Gates: p.Gates,
	}
}
