package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// unreachable says what to do when no server answers.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the method and address are said better below
	}
	e := &posthouse.Error{Code: posthouse.CodeClosed, Message: "no server answers at " + c.base, Err: err}
	if isDial(err) {
		e.Hint = cmp.Or(c.opt.Away, "is it running, and is that its address?")
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		e.Hint = "it speaks http, without TLS: write its address as http://..."
	}
	return e
}

// isDial reports whether no connection was made, so that nothing was sent.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// problem turns an answer that is not a success into an error.
func (c *Client) problem(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read is all there is to say
	e := parseProblem(data, resp.StatusCode)
	if e == nil {
		return &posthouse.Error{
			Code: codeOf(resp.StatusCode), Message: fmt.Sprintf("%s answered %s", c.base, resp.Status),
			Hint: "is it a posthouse server?",
		}
	}
	if resp.StatusCode == http.StatusUnauthorized {
		e.Hint = cmp.Or(c.opt.Refused, e.Hint)
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
		said, named := strings.CutPrefix(p.Detail, e.Field+" ")
		if !named {
			e.Field = "" // the detail says what it is about
		}
		e.Message = said
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
