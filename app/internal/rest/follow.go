package rest

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Follower follows the events of a server, also over its restarts.
type Follower struct {
	Client *Client
	Query  url.Values // of /api/events, without after
	After  string     // cursor to go on from; "" is now
	Away   func()     // called when the server is away, once each time; may be nil

	body *http.Response
}

// eventsPath is where all that is recorded can be followed.
const eventsPath = "/api/events"

const (
	firstWait = 500 * time.Millisecond
	maxWait   = 10 * time.Second
)

// Begin asks for the events. After it no event is missed.
func (f *Follower) Begin(ctx context.Context) error {
	q := url.Values{}
	for name, values := range f.Query {
		q[name] = values
	}
	if f.After != "" {
		q.Set("after", f.After)
	}
	resp, err := f.Client.send(ctx, http.MethodGet, eventsPath, q, nil, "text/event-stream")
	if err != nil {
		return err
	}
	if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		_ = resp.Body.Close() // it is not read
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: f.Client.Base + " does not stream here"}
	}
	f.body = resp
	return nil
}

// Close ends what Begin began.
func (f *Follower) Close() {
	if f.body != nil {
		_ = f.body.Body.Close() // it was only read
		f.body = nil
	}
}

// Events yields the events until ctx ends. It asks again when the server is away, from the last event
// on. Without a cursor, events of that time are missed. A refusal is yielded as its error, and
// ends it.
func (f *Follower) Events(ctx context.Context) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		defer f.Close()
		wait := firstWait
		for away := false; ; {
			var err error
			if f.body == nil {
				err = f.Begin(ctx)
			}
			if err == nil {
				away, wait = false, firstWait
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
			if !away && f.Away != nil {
				f.Away()
			}
			away = true
			pause(ctx, wait)
			wait = min(2*wait, maxWait)
		}
	}
}

// relay yields the events of one answer, and reports whether to go on when it has ended.
func (f *Follower) relay(yield func(*Event, error) bool, failed *error) bool {
	defer f.Close()
	for ev, err := range events(f.body.Body) {
		if err != nil {
			*failed = f.Client.unreachable(err)
			return true
		}
		if ev.Name == "error" && ev.ID == "" {
			*failed = Problem(ev.Data)
			return true
		}
		if ev.ID != "" {
			f.After = ev.ID
		}
		if !yield(ev, nil) {
			return false
		}
	}
	return true
}

// pause waits before the next attempt.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
