package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// A desk is an engine with one worker's session.
type desk struct {
	*writer
	d       *dispatch.Dispatcher
	session string
}

// atDesk does something with a worker. Tasks that it claimed and has not ended are with it afterwards.
func (w *writer) atDesk(do func(k *desk)) {
	k := &desk{writer: w, d: must(dispatch.New(w.l, &dispatch.Options{Wait: 20 * time.Millisecond}))}
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- k.d.Run(ctx) }()
	k.connect()
	do(k)
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		check(err)
	}
	w.clock.forward(time.Second)
}

func (k *desk) connect() { k.session = must(k.d.Connect(k.ctx, hello())).ID }

// claims returns a thread's task; others are passed over.
func (k *desk) claims(thread string) *task.Claim {
	for range 400 {
		if c := must(k.d.Claim(k.ctx, k.session)); c != nil {
			if c.Thread == thread {
				return c
			}
			log.Fatalf("the worker has a task of %s, and that of %s was wanted", c.Thread, thread)
		}
		k.clock.forward(time.Second)
	}
	log.Fatalf("the worker gets no task of %s", thread)
	return nil
}

func (k *desk) gives(c *task.Claim, v task.Verdict) {
	check(k.d.Resolve(k.ctx, c.ID, v))
	k.clock.forward(time.Second)
}

var paid = []byte(`"paid"`)

// remote has effects whose function hands its task to a worker.
func (w *writer) remote() {
	w.begins("away-proposed", "away")
	w.licensed("away-licensed", "away")
	w.ends("away-done", task.Verdict{Action: task.Complete, Output: paid})
	w.ends("away-failed", task.Verdict{Action: task.FailPermanent, Reason: "the bank refused"})
	w.lostByWorkers()
	w.handed("away-withdrawn")
	must(w.l.Cancel(w.ctx, "away-withdrawn", &ledger.CancelOptions{By: "zoe"}))
}

// handed has a thread's payment approved, and its task handed out.
func (w *writer) handed(thread string) {
	w.licensed(thread, "away")
	w.goesOn(thread, "")
}

// ends has a worker end the task of a thread.
func (w *writer) ends(thread string, v task.Verdict) {
	w.handed(thread)
	w.atDesk(func(k *desk) { k.gives(k.claims(thread), v) })
	w.goesOn(thread, "")
}

// left has tasks that stay open.
func (w *writer) left() {
	w.handed("away-claimed-cancelled")
	w.atDesk(func(k *desk) {
		k.claims("away-claimed-cancelled")
		must(w.l.Cancel(w.ctx, "away-claimed-cancelled", &ledger.CancelOptions{By: "zoe"}))
	})
	w.ends("away-retried", task.Verdict{Action: task.RetryAfter, Reason: "the bank is closed", Delay: 100 * time.Hour})
	w.handed("away-claimed")
	w.atDesk(func(k *desk) { k.claims("away-claimed") })
	w.handlersLeft()
	w.handed("away-open")
}
