package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
)

// KeyHeader names a request, so that the server takes it once however often it is sent.
const KeyHeader = "Idempotency-Key"

// maxRetryAfter bounds how long a server's wish is waited for.
const maxRetryAfter = 30 * time.Second

// A request is what is sent, possibly again.
type request struct {
	method, path, accept string

	body  []byte // nil: there is no body
	media string // of the body
	key   string // [KeyHeader]; "" is not sent
}

// newRequest returns a request with a body as JSON, unless that is nil.
func newRequest(method, path string, query url.Values, body any) (*request, error) {
	r := &request{method: method, path: withQuery(path, query), accept: "application/json", media: "application/json"}
	if p, ok := body.(*Patch); ok {
		r.media, body = p.media(), p.Data
	}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be encoded", Err: err}
		}
		r.body = data
	}
	if method == http.MethodPost && takesKey(path) {
		r.key = rand.Text()
	}
	return r, nil
}

// send sends a request and returns the answer if it is a success. It sends again what failed
// on the way, or what the server had no room for, where that is safe.
func (c *Client) send(ctx context.Context, retries int, r *request) (*http.Response, error) {
	waits := backoff.NewRetries(100*time.Millisecond, maxWait)
	for n := 0; ; n++ {
		resp, refused, err := c.once(ctx, r)
		wait, again := r.again(err, refused)
		if err == nil || n >= retries || !again {
			return resp, err
		}
		if !backoff.Sleep(ctx, max(wait, waits.Wait())) {
			return nil, err
		}
	}
}

// takesKey reports whether a path takes a key. Those of logins and workers do not.
func takesKey(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return path != "/login" && path != "/logout" && !strings.HasPrefix(path, "/api/worker/")
}

// once sends a request once. Refused is what came back if that was no success, nil if nothing did.
func (c *Client) once(ctx context.Context, r *request) (resp *http.Response, refused *answer, err error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be made", Err: err}
	}
	req.Header.Set("Accept", r.accept)
	if r.body != nil {
		req.Header.Set("Content-Type", r.media)
	}
	if r.method == http.MethodDelete {
		req.Header.Set("Prefer", "return=representation")
	}
	if r.key != "" {
		req.Header.Set(KeyHeader, r.key)
	}
	if c.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	}
	resp, err = c.opt.HTTP.Do(req)
	if err != nil {
		return nil, nil, c.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, answerOf(resp), c.problem(resp)
	}
	return resp, nil, nil
}

// again reports whether a request that failed is sent again, and how long the server wants it to wait. A
// GET is, and a POST with a key, since the server takes it once. Anything else is if the server had no
// room for it.
func (r *request) again(err error, refused *answer) (wait time.Duration, ok bool) {
	safe := r.method == http.MethodGet || r.key != ""
	if refused == nil {
		return 0, errors.Is(err, posthouse.ErrClosed) && !isDial(err) && safe // the connection broke
	}
	switch refused.status {
	case http.StatusTooManyRequests:
		return refused.after, refused.after <= maxRetryAfter
	case http.StatusConflict: // the first one with the key is still worked on
		return refused.after, r.key != "" && refused.after > 0 && refused.after <= maxRetryAfter
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return refused.after, safe && refused.after > 0 && refused.after <= maxRetryAfter
	}
	return 0, false
}

// An answer is what a refusal came with.
type answer struct {
	status int
	after  time.Duration // that the server wants a client to wait; 0: it does not say
}

func answerOf(resp *http.Response) *answer {
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // it may be a date, or absent
	return &answer{resp.StatusCode, time.Duration(max(seconds, 0)) * time.Second}
}
