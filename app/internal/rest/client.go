package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/internal/base/loopback"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// A Client talks to one server.
type Client struct {
	Base  string // such as http://127.0.0.1:8095
	Token string // sent as a bearer token; never printed
	HTTP  *http.Client

	Refused string // what to do where the token is refused, or missing; default: name the file of one, or make one
}

// New returns a client for the server at base. The token goes to that host
// only, and not over plain HTTP unless the host is this machine:
// [posthouse.ErrInvalid].
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "server", Message: fmt.Sprintf("%q is no address of a server", address.Redacted(base)),
			Hint: "write it as http://127.0.0.1:8095",
		}
	}
	if u.Scheme == "http" && token != "" && !loopback.Is(u.Hostname()) {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "server", Message: "is another machine reached without TLS: the token could be read on the way",
			Hint: "use https, or a tunnel to this machine",
		}
	}
	return &Client{
		Base: strings.TrimRight(base, "/"), Token: token,
		HTTP: &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSHandshakeTimeout:   5 * time.Second,
				ResponseHeaderTimeout: 10 * time.Minute, // an approval answers when the effect is done
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Local reports whether the address is this machine's.
func Local(base string) bool {
	u, err := url.Parse(base)
	return err == nil && loopback.Is(u.Hostname())
}

// Path joins segments, each escaped: an id with odd characters stays one
// segment.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// Thread is the path of a thread, or of what is below it. A name that cannot be
// a segment of a path, . or .., is a parameter instead.
func Thread(name string, segments ...string) string {
	q := url.Values{}
	path := "/api/threads/" + segment(q, "thread", name)
	for i, s := range segments {
		if i > 0 && segments[i-1] == "signals" {
			s = segment(q, "signal", s)
		} else {
			s = url.PathEscape(s)
		}
		path += "/" + s
	}
	return withQuery(path, q)
}

// Agent is the path of an agent, as [Thread] is that of a thread.
func Agent(name string) string {
	q := url.Values{}
	return withQuery("/api/agents/"+segment(q, "agent", name), q)
}

// Program is the path of a program, or of what is below it, as [Thread] is that of a thread.
func Program(name string, segments ...string) string {
	q := url.Values{}
	return withQuery("/api/programs/"+segment(q, "program", name)+Path(segments...), q)
}

func segment(q url.Values, param, name string) string {
	if name != "." && name != ".." {
		return url.PathEscape(name)
	}
	q.Set(param, name)
	return "-"
}

func withQuery(path string, q url.Values) string {
	switch {
	case len(q) == 0:
		return path
	case strings.Contains(path, "?"):
		return path + "&" + q.Encode()
	}
	return path + "?" + q.Encode()
}

// Do sends body, if not nil, as JSON and reads the answer into out, if not nil: into a slice, the
// items of a list. An answer of 300 and above is returned as the [posthouse.Error] it reports.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body, out any) error {
	_, err := c.do(ctx, method, path, query, body, out)
	return err
}

// Get is Do without a body.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.Do(ctx, http.MethodGet, path, query, nil, out)
}

// pageSize is the most that is asked for at once.
const pageSize = 1000

// List yields what a list holds, page by page, at most limit items; 0 is all.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := url.Values{}
		maps.Copy(q, query)
		for seen := 0; ; {
			size := pageSize
			if limit > 0 {
				size = min(size, limit-seen)
			}
			q.Set("limit", strconv.Itoa(size))
			var page []T
			head, err := c.do(ctx, http.MethodGet, path, q, nil, &page)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			next := head.Get("X-Next-Cursor")
			if seen += len(page); next == "" || seen == limit {
				return
			}
			q.Set("cursor", next)
		}
	}
}

// Collect reads a whole List.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, out any) (http.Header, error) {
	resp, err := c.send(ctx, method, path, query, body, "application/json")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(err)
	case len(data) > maxAnswer:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "answer", Message: "is larger than 64 MiB", Hint: "ask for less with --limit"}
	case out == nil || len(data) == 0:
		return resp.Header, nil
	}
	if err := unmarshal(data, out); err != nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: c.Base + " answered with something that is not what was asked for", Err: err,
			Hint: "is it a posthouse server of this version?",
		}
	}
	return resp.Header, nil
}

// unmarshal reads an answer, of a list the items.
func unmarshal(data []byte, out any) error {
	t := reflect.TypeOf(out).Elem()
	if t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Uint8 || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return json.Unmarshal(data, out)
	}
	var page struct{ Items json.RawMessage }
	if err := json.Unmarshal(data, &page); err != nil {
		return err
	}
	if page.Items == nil {
		return errors.New("it has no items")
	}
	return json.Unmarshal(page.Items, out)
}

func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any, accept string) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be encoded", Err: err}
		}
		r = bytes.NewReader(data)
	}
	u := c.Base + withQuery(path, query)
	req, err := http.NewRequestWithContext(ctx, method, u, r)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be made", Err: err}
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodDelete {
		req.Header.Set("Prefer", "return=representation")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, c.problem(resp)
	}
	return resp, nil
}

// unreachable says what to do when no server answers.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the method and address are said better below
	}
	e := &posthouse.Error{Code: posthouse.CodeClosed, Message: "no server answers at " + c.Base, Err: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		e.Hint = "start it with: posthouse dev; or say where it is with --server"
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		e.Hint = "it speaks http, without TLS: write its address as http://..."
	}
	return e
}

// problem turns an answer that is not a success into an error.
func (c *Client) problem(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read is all there is to say
	e := parseProblem(data, resp.StatusCode)
	if e == nil {
		return &posthouse.Error{
			Code: codeOf(resp.StatusCode), Message: fmt.Sprintf("%s answered %s", c.Base, resp.Status),
			Hint: "is it a posthouse server?",
		}
	}
	if resp.StatusCode == http.StatusUnauthorized {
		e.Hint = cmp.Or(c.Refused, "name the file of a valid one with --token-file, or make one: posthouse token create")
	}
	return e
}

// Problem reads a problem document that came in a stream.
func Problem(data []byte) error {
	if e := parseProblem(data, 0); e != nil {
		return e
	}
	return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the server reports an error that cannot be read"}
}

// parseProblem returns nil for data that is not a problem document. The status counts
// if the document does not have its own.
func parseProblem(data []byte, status int) *posthouse.Error {
	var p struct {
		posthouse.Error
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Status int    `json:"status"`
	}
	if err := json.Unmarshal(data, &p); err != nil || p.Title == "" && p.Code == "" {
		return nil
	}
	e := p.Error
	if e.Code != posthouse.CodeUnsupported && e.Code.ExitCode() == posthouse.ExitFailure {
		e.Code = codeOf(cmp.Or(p.Status, status)) // one that only HTTP has
	}
	if e.Message == "" {
		e.Message, e.Field = p.Detail, "" // the detail names the field already
	}
	e.Message = cmp.Or(e.Message, p.Title)
	return &e
}

// codeOf returns the code for an answer without a code.
func codeOf(status int) posthouse.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return posthouse.CodeForbidden
	case http.StatusNotFound:
		return posthouse.CodeNotFound
	case http.StatusConflict:
		return posthouse.CodeConflict
	case http.StatusGone:
		return posthouse.CodeExpired
	case http.StatusRequestEntityTooLarge:
		return posthouse.CodeTooLarge
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return posthouse.CodeUnavailable
	}
	if status >= 500 {
		return posthouse.CodeUnknown
	}
	return posthouse.CodeInvalid
}
