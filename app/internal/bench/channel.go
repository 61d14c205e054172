package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// A receiver takes the messages of a webhook in this process.
type receiver struct {
	server *localServer
	hook   *webhook.Webhook
	took   func(*notify.Event)
}

// newReceiver starts a receiver that calls took for each message with a signature that holds.
func newReceiver(took func(*notify.Event)) (*receiver, error) {
	secret := webhook.NewSecret()
	key, err := webhook.ParseSecret(secret)
	if err != nil {
		return nil, err
	}
	r := &receiver{took: took}
	r.server, err = serveLocally(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			_, err = webhook.Verify(q.Header, body, time.Now(), key)
		}
		e := new(notify.Event)
		if err == nil {
			err = json.Unmarshal(body, e)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		r.took(e)
	})
	if err != nil {
		return nil, err
	}
	r.hook, err = webhook.New(&webhook.Options{URL: r.server.URL, Secret: secret, Insecure: true, Allow: []string{"127.0.0.0/8", "::1"}})
	if err != nil {
		r.server.close()
		return nil, err
	}
	return r, nil
}

func (r *receiver) endpoint() notify.Endpoint {
	return notify.Endpoint{Name: "bench", Channel: r.hook, Events: []notify.Type{notify.GateOpened}}
}

// channel measures how long a question takes from the request that leads to it until a webhook has it.
func channel(s *session) (err error) {
	n := s.n(50)
	told := make(chan posthouse.ID, n+1)
	r, err := newReceiver(func(e *notify.Event) { told <- e.Data.Gate.ID })
	if err != nil {
		return err
	}
	defer r.server.close()
	v, err := s.serve(r.endpoint())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	var slowest time.Duration
	m, err := s.each(n, func() error {
		s.opt.Progress(s.current, "questions that a webhook is told of")
		at := s.opt.Now()
		id, err := v.ask(s.ctx, fmt.Sprintf("order-%d", at.UnixNano()))
		if err != nil {
			return err
		}
		if err := heard(s.ctx, told, id); err != nil {
			return err
		}
		slowest = max(slowest, s.opt.Now().Sub(at))
		return nil
	})
	if err != nil {
		return err
	}
	s.note("request to message, median", "ms", micros(m.times, 0, 1)/1e3, 0)
	ms := float64(slowest.Microseconds()) / 1e3
	s.atMost("request to message, slowest", "ms", ms, 0, ms, 1000)
	return nil
}

// heard waits until a question was told.
func heard(ctx context.Context, told <-chan posthouse.ID, id posthouse.ID) error {
	for {
		select {
		case got := <-told:
			if got == id {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
