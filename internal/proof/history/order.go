package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// orderEnv has the order of a crew.
const orderEnv = "POSTHOUSE_HISTORY_CREW"

// An order is what a crew is to do.
type order struct {
	URL     string
	Crew    int // it is part of what clients write, so that nothing is written twice
	Seed    uint64
	Clients int // of each model
	Ops     int // of each client; 0: it reads all there is
	Broken  string
	Timeout time.Duration // of calls to a server
}

// A line is a call, with an Op, or an answer.
type line struct {
	Client int           `json:"c"`
	N      int           `json:"n"`
	Op     *model.Op     `json:"op,omitempty"`
	Out    *model.Answer `json:"out,omitempty"`
	Failed string        `json:"failed,omitempty"` // what went wrong with the crew itself, or an answer that no store may give
}

// maxLine is how much a pipe takes at once: longer lines could be mixed with others.
const maxLine = 4096

// A recorder writes lines.
type recorder struct{ out io.Writer }

func (r recorder) write(l line) {
	text, err := json.Marshal(l)
	if err == nil && len(text) >= maxLine {
		err = fmt.Errorf("a line of %d bytes", len(text))
	}
	if err != nil {
		text = fmt.Appendf(nil, `{"failed":%q}`, err)
	}
	_, _ = r.out.Write(append(text, '\n'))
}

// Working does the work of a crew and ends this process, if it was started as one. The
// process ends with its parent, too.
func Working() {
	text := os.Getenv(orderEnv)
	if text == "" {
		return
	}
	signal.Ignore(os.Interrupt) // the parent decides
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		recorder{os.Stdout}.write(line{Failed: err.Error()})
		os.Exit(1)
	}
	o.work(context.Background(), os.Stdout, nil)
	os.Exit(0)
}

// work runs the clients until each has done its part. A nil store is opened.
func (o *order) work(ctx context.Context, out io.Writer, store posthouse.Store) {
	r := recorder{out}
	if store == nil {
		var err error
		store, err = o.open(ctx)
		if err != nil {
			r.write(line{Failed: "open: " + err.Error()})
			return
		}
		defer func() { _ = store.Close() }() // what was lost with it is in the history
	}
	broken, err := spoil(store, o.Broken)
	if err != nil {
		r.write(line{Failed: err.Error()})
		return
	}
	var wg sync.WaitGroup
	var number atomic.Int64
	for range o.Clients {
		for _, play := range []func(*client) player{newHeads, newSlots, newGates, newLeases} {
			n := int(number.Add(1)) + 100*o.Crew
			c := &client{
				r: r, number: n, store: broken, ctx: ctx, rnd: rand.New(rand.NewPCG(o.Seed, uint64(n))),
			}
			wg.Go(func() { c.run(play, o.Ops) })
		}
	}
	wg.Wait()
}

// open opens the store. Its server may be down.
func (o *order) open(ctx context.Context) (posthouse.Store, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		s, err := site.Open(ctx, o.URL, o.Timeout)
		if err == nil || !errors.Is(err, posthouse.ErrUnavailable) && !errors.Is(err, posthouse.ErrLocked) {
			return s, err
		}
		<-tick.C
	}
	return nil, errors.New("the server does not come back")
}
