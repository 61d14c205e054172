package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of what a server may send.
const (
	maxAnswer  = 16 << 20 // bytes of a whole stream
	maxLine    = 1 << 20  // of one line of it
	maxTrouble = 4 << 10  // of an error's body
)

// defaultIdle stands for Config.Idle where it is zero.
const defaultIdle = 60 * time.Second

// A Dialect is the way a server wants to be spoken to.
type Dialect string

// The dialects.
const (
	OpenAI    Dialect = "openai"
	Anthropic Dialect = "anthropic"
)

// Config says which model to use. URL, Dialect and Model are required.
type Config struct {
	Dialect Dialect
	Model   string
	URL     string        // up to and with the version, as in https://api.openai.com/v1; http only to this machine
	Key     string        // "" for a server without keys
	Idle    time.Duration // the longest silence of a server; default 60 s
	HTTP    *http.Client  // default: one without a timeout of its own
}

// A protocol writes requests and reads answers in one dialect.
type protocol interface {
	path() string
	header(h http.Header, key string)
	body(model string, r Request) any
	reader(out io.Writer) answer
}

// An answer is put together from the data of a stream's events.
type answer interface {
	event(data []byte) (done bool, err error)
	reply() Reply
}

// A client is a Model reached over HTTP.
type client struct {
	protocol protocol
	model    string
	url      string
	key      func() string // not a field, so that printing a client does not show it
	idle     time.Duration
	http     *http.Client
}

// New returns the model.
func New(c Config) (Model, error) {
	cl := &client{model: c.Model, key: func() string { return c.Key }, idle: c.Idle}
	switch c.Dialect {
	case OpenAI:
		cl.protocol = openAI{}
	case Anthropic:
		cl.protocol = anthropic{}
	default:
		return nil, fmt.Errorf("llm: the dialect is %q; known are %s and %s", c.Dialect, OpenAI, Anthropic)
	}
	if c.Model == "" {
		return nil, errors.New("llm: the model has no name")
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, errors.New("llm: the URL is not like https://api.openai.com/v1")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("llm: the URL must begin with https, or be of this machine, since the key goes there")
	}
	cl.url = strings.TrimSuffix(c.URL, "/") + cl.protocol.path()
	if cl.idle <= 0 {
		cl.idle = defaultIdle
	}
	hc := http.Client{}
	if c.HTTP != nil {
		hc = *c.HTTP
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cl.http = &hc
	return cl, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// errIdle ends the context of a request when its server fell silent.
var errIdle = errors.New("the server fell silent")

// Complete sends the request and reads the stream. It tries once.
func (c *client) Complete(ctx context.Context, r Request, out io.Writer) (Reply, error) {
	if out == nil {
		out = io.Discard
	}
	body, err := json.Marshal(c.protocol.body(c.model, r))
	if err != nil {
		return Reply{}, fmt.Errorf("llm: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	defer idle.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("llm: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	c.protocol.header(req.Header, c.key())
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, broken(ctx, "no answer", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Reply{}, c.refused(resp)
	}
	a := c.protocol.reader(out)
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxAnswer))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		idle.Reset(c.idle)
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // the event's name, which its data repeats, a comment or an empty line
		}
		done, err := a.event(bytes.TrimSpace(data))
		if err != nil {
			return Reply{}, c.redact(err)
		}
		if done {
			return checked(a.reply())
		}
	}
	if err := lines.Err(); err != nil {
		return Reply{}, broken(ctx, "the answer broke off", err)
	}
	return Reply{}, broken(ctx, "the answer broke off", io.ErrUnexpectedEOF)
}

// checked refuses calls that cannot be carried out.
func checked(r Reply) (Reply, error) {
	for _, call := range r.Message.Calls {
		if !json.Valid(call.Arguments) {
			return Reply{}, &Error{Message: fmt.Sprintf("the arguments of the call of %q are not JSON", call.Name), temporary: !r.Cut}
		}
	}
	return r, nil
}

// broken is the error of a connection. A caller that has enough is not told of
// the connection but of that.
func broken(ctx context.Context, message string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) {
		err = cause
	} else if cause != nil {
		return cause
	}
	return &Error{Message: message, Err: err, temporary: true}
}

// refused reads what a server says where it does not answer.
func (c *client) refused(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode), temporary: busy(resp.StatusCode)}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTrouble))
	if err != nil {
		return e // the status says enough
	}
	var body struct{ Error trouble }
	if json.Unmarshal(data, &body) == nil && body.Error.Message != "" {
		e.Kind, e.Message = body.Error.Type, body.Error.Message
	}
	return c.redact(e)
}

// trouble is how both dialects tell an error.
type trouble struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// redact takes the key out of what a server said: it may repeat it.
func (c *client) redact(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && c.key() != "" {
		e.Message = strings.ReplaceAll(e.Message, c.key(), "[key]")
		e.Kind = strings.ReplaceAll(e.Kind, c.key(), "[key]")
	}
	return err
}

// object makes a JSON object of a call's arguments. Without arguments it is empty.
func object(arguments []byte) json.RawMessage {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// unreadable is an event that does not speak the dialect.
func unreadable(err error) error {
	return &Error{Message: "the answer cannot be read", Err: err, temporary: true}
}
