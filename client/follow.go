package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
)

// An EventQuery says what to follow, and from where. Nil is the zero value.
type EventQuery struct {
	Thread string   // of this thread; "" is all
	Modes  []string // as [github.com/posthouse/posthouse/runs.StreamMode] has them, and records; default records, messages and custom
	After  string   // a cursor; start is the oldest event; default now
	Away   func()   // called when the server is away, once each time; may be nil
}

// A Follower follows what happens on a server, also over its restarts. [Client.Follow] makes one. It is
// for one goroutine.
type Follower struct {
	client *Client
	query  url.Values
	after  string
	away   func()
	body   *http.Response
}

// eventsPath is where what happens can be followed.
const eventsPath = "/api/events"

const (
	firstWait = 500 * time.Millisecond
	maxWait   = 10 * time.Second
)

// Follow begins to follow what happens: after it no event is missed. Read them with
// [Follower.Events], or end it with [Follower.Close].
func (c *Client) Follow(ctx context.Context, q *EventQuery) (*Follower, error) {
	if q == nil {
		q = new(EventQuery)
	}
	f := &Follower{client: c, query: url.Values{valuesParam: {"text"}}, after: q.After, away: q.Away}
	if q.Thread != "" {
		f.query.Set("thread", q.Thread)
	}
	if len(q.Modes) > 0 {
		f.query.Set("modes", strings.Join(q.Modes, ","))
	}
	return f, f.begin(ctx, c.opt.Retries)
}

// Events follows what happens until ctx ends: see [Client.Follow] and [Follower.Events].
func (c *Client) Events(ctx context.Context, q *EventQuery) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		f, err := c.Follow(ctx, q)
		if err != nil {
			yield(nil, err)
			return
		}
		f.Events(ctx)(yield)
	}
}

func (f *Follower) begin(ctx context.Context, retries int) error {
	if f.after != "" {
		f.query.Set("after", f.after)
	}
	resp, err := f.client.send(ctx, retries, &request{method: http.MethodGet, path: withQuery(eventsPath, f.query), accept: "text/event-stream"})
	if err != nil {
		return err
	}
	if err := f.client.streams(resp); err != nil {
		return err
	}
	f.body = resp
	return nil
}

// Close ends what Follow began.
func (f *Follower) Close() {
	if f.body != nil {
		_ = f.body.Body.Close() // it was only read
		f.body = nil
	}
}

// Cursor returns the place to go on from: that of the last event on record, or where it began.
func (f *Follower) Cursor() string { return f.after }

// Events yields events until ctx ends. It asks again when the server is away, from the last event on; what
// is not on record is missed then. An entry that cannot be read is an event with its thread and
// number, and the error; others follow. Any other error is the last element, without an event.
func (f *Follower) Events(ctx context.Context) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		defer f.Close()
		waits := backoff.NewRetries(firstWait, maxWait)
		for away := false; ; {
			var err error
			if f.body == nil {
				err = f.begin(ctx, 0)
			}
			if err == nil {
				away = false
				waits.Reset()
				if !f.relay(yield, &err) {
					return
				}
			}
			switch {
			case ctx.Err() != nil:
				yield(nil, ctx.Err())
				return
			case err != nil && !errors.Is(err, posthouse.ErrClosed) && !errors.Is(err, posthouse.ErrUnavailable):
				yield(nil, err)
				return
			}
			if !away && f.away != nil {
				f.away()
			}
			away = true
			waits.Next(ctx)
		}
	}
}

// relay yields the events of one answer, and reports whether to go on when it has ended.
func (f *Follower) relay(yield func(*Event, error) bool, failed *error) bool {
	defer f.Close()
	for m, err := range messages(f.body.Body) {
		if err != nil {
			*failed = f.client.unreachable(err)
			return true
		}
		if m.ID != "" {
			f.after = m.ID
		}
		if m.Data == nil {
			continue
		}
		e := new(Event)
		if err := decode(m.Data, e); err != nil {
			*failed = f.client.notAnAnswer(err)
			return true
		}
		switch {
		case e.Error != nil && e.Cursor == "":
			*failed = Problem(e.Error)
			return true
		case e.Kind == "session":
			continue
		case e.Error != nil:
			err = Problem(e.Error)
		}
		if !yield(e, err) {
			return false
		}
	}
	return true
}

// streams closes an answer that is no stream, and says so.
func (c *Client) streams(resp *http.Response) error {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return nil
	}
	_ = resp.Body.Close() // it is not read
	return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: c.base + " does not stream here", Hint: "is it a posthouse server of this version?"}
}

// notAnAnswer says that an answer cannot be read.
func (c *Client) notAnAnswer(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: c.base + " answered with something that is not what was asked for", Err: err,
		Hint: "is it a posthouse server of this version?",
	}
}

// decode reads JSON with values on record as strings of their bytes.
func decode(data []byte, out any) error {
	if err := json.Unmarshal(data, out); err != nil {
		return err
	}
	return restore(out)
}
