package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A receiver is a channel that keeps what it takes.
type receiver struct {
	mu       sync.Mutex
	answer   func(m *notify.Message) error // nil: it takes everything
	took     []*notify.Message
	attempts int
}

func (r *receiver) Deliver(_ context.Context, m *notify.Message) error {
	r.mu.Lock()
	answer := r.answer
	r.attempts++
	r.mu.Unlock()
	if answer != nil {
		if err := answer(m); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, m)
	return nil
}

func (*receiver) Kind() string    { return "test" }
func (*receiver) Address() string { return "test:" }

func (r *receiver) set(answer func(*notify.Message) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) tried() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}

// messages returns what the receiver took, and how often each id came.
func (r *receiver) messages() (all []*notify.Message, times map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	times = map[string]int{}
	for _, m := range r.took {
		times[m.ID]++
	}
	return append(all, r.took...), times
}

// types returns the types of what the receiver took, in order.
func (r *receiver) types() (all []notify.Type) {
	took, _ := r.messages()
	for _, m := range took {
		all = append(all, m.Event.Type)
	}
	return all
}

// gates returns how often each gate came as opened.
func (r *receiver) gates() map[posthouse.ID]int {
	took, _ := r.messages()
	times := map[posthouse.ID]int{}
	for _, m := range took {
		if m.Event.Type == notify.GateOpened {
			times[m.Event.Data.Gate.ID]++
		}
	}
	return times
}

// A desk is a store with a Ledger to ask questions by.
type desk struct {
	t     *testing.T
	store posthouse.Store
	led   *ledger.Ledger
}

// newDesk returns a desk for a test in a bubble, where time is what the test makes it.
func newDesk(t *testing.T) *desk {
	d := &desk{t: t, store: memstore.New()}
	d.led = d.open(d.store)
	return d
}

func (d *desk) open(store posthouse.Store) *ledger.Ledger {
	d.t.Helper()
	led := must.Get(ledger.Open(store, nil))(d.t)
	d.t.Cleanup(func() { must.Do(d.t, led.Close()) })
	return led
}

// start runs a notifier until stop is called or the test ends.
func (d *desk) start(led *ledger.Ledger, endpoints ...notify.Endpoint) (n *notify.Notifier, stop func()) {
	d.t.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	n = must.Get(notify.New(led, endpoints, &notify.Options{URL: "https://posthouse.example.com/", Logger: log}))(d.t)
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); err != nil {
			d.t.Errorf("the notifier ended with %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	d.t.Cleanup(stop)
	synctest.Wait()
	return n, stop
}

// ask opens a question in a thread of its own, and returns its gate.
func (d *desk) ask(change ...func(*posthouse.Gate)) *posthouse.Gate {
	d.t.Helper()
	g := posthouse.Gate{Name: "refund", Text: "Refund order 7?\nIt is late.", Payload: json.RawMessage(`{"amount":250,"currency":"EUR"}`)}
	for _, f := range change {
		f(&g)
	}
	done := must.Get(d.led.Commit(d.t.Context(), &ledger.Draft{
		Thread:     "order-" + string(ledger.NewID(d.led)),
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Graph: "refunds"}, Gates: []posthouse.Gate{g},
	}))(d.t)
	return must.Get(d.led.Gate(d.t.Context(), done.Gates[0].ID))(d.t)
}

func (d *desk) status(n *notify.Notifier, name string) notify.Status {
	d.t.Helper()
	for _, s := range must.Get(n.List(d.t.Context()))(d.t) {
		if s.Name == name {
			return s
		}
	}
	d.t.Fatalf("there is no endpoint %q", name)
	return notify.Status{}
}

// A cable is a store that can be cut off.
type cable struct {
	posthouse.Store
	mu  sync.Mutex
	cut bool
}

var errCut = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the cable is cut"}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

func (c *cable) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return errCut
	}
	return nil
}

func (c *cable) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if err := c.err(); err != nil {
		return posthouse.Slot{}, err
	}
	return c.Store.Slot(ctx, key, op)
}

func (c *cable) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := c.err(); err != nil {
		return posthouse.Ref{}, err
	}
	return c.Store.Find(ctx, id)
}

// Watch ends with an error at the first entry after a cut.
func (c *cable) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	watch := c.Store.(posthouse.Watcher).Watch(ctx, cursor)
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range watch {
			if cut := c.err(); cut != nil {
				yield(nil, cut)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

var errBroken = errors.New("the receiver is broken")
