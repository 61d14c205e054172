package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// writers is how many write at once in a child.
const writers = 4

// A writer writes threads of its own, one after the other, and says what is acknowledged.
type writer struct {
	l     *ledger.Ledger
	v     *voice
	early bool
	few   int
	rnd   *rand.Rand
	name  string
}

// patience is how often in a row a writer tries again after an error that goes away, each time
// after a pause: half a minute. A store on a disk that was full starts its server again.
const (
	patience = 3000
	pause    = 10 * time.Millisecond
)

// work writes until an error stays. A full disk and an unknown outcome go away: then it
// begins another thread.
func (w *writer) work(ctx context.Context) error {
	for n, failed := 0, 0; ; n++ {
		done, err := w.thread(ctx, fmt.Sprintf("%s-%d", w.name, n))
		switch {
		case done > 0:
			failed = 0
		case err != nil:
			failed++
		}
		switch {
		case err == nil:
		case failed > patience:
			return fmt.Errorf("%d times in a row: %w", failed, err)
		case !errors.Is(err, posthouse.ErrFull) && !errors.Is(err, posthouse.ErrUnknown) && !errors.Is(err, posthouse.ErrUnavailable):
			return err
		default:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
		}
		if w.few > 0 && n*10 >= w.few {
			return nil
		}
	}
}

// thread writes one thread of a few changes, and returns how many were acknowledged.
func (w *writer) thread(ctx context.Context, thread string) (done int, err error) {
	head, err := w.save(ctx, posthouse.Root(thread, w.state()))
	for step := 0; err == nil && step < 10; step++ {
		done++
		switch w.rnd.IntN(8) {
		case 0:
			err = w.decide(ctx, thread)
			if err == nil {
				head, err = w.l.Latest(ctx, ledger.LatestQuery{Thread: thread})
			}
		case 1:
			err = w.fork(ctx, head.ID)
		case 2:
			err = w.slot(ctx, thread, step)
		default:
			head, err = w.save(ctx, head.Derive(w.state()))
		}
	}
	return done, err
}

// state is a state of any size, small ones more often.
func (w *writer) state() posthouse.State {
	text := make([]byte, 20+w.rnd.IntN(1+w.rnd.IntN(1+w.rnd.IntN(40_000))))
	for i := range text {
		text[i] = 'a' + byte(w.rnd.IntN(26))
	}
	return posthouse.State{"text": {Codec: "raw", Data: text}}
}

func (w *writer) save(ctx context.Context, c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	if w.early {
		c.ID = posthouse.ID(fmt.Sprintf("%s.%x", c.Thread, w.rnd.Uint64()))
		w.v.say("%s", ack{kind: "checkpoint", id: string(c.ID), hash: unknownHash})
	}
	saved, err := w.l.Save(ctx, c, nil)
	if err == nil && !w.early {
		w.v.say("%s", ack{kind: "checkpoint", id: string(saved.ID), hash: saved.Hash.String()})
	}
	return saved, err
}

// decide asks a question and answers it.
func (w *writer) decide(ctx context.Context, thread string) error {
	asked, err := w.l.Commit(ctx, &ledger.Draft{
		Thread:     thread,
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "n", Next: []string{"n"}},
		Gates:      []posthouse.Gate{{Name: "q", Text: "Go on?"}},
	})
	if err != nil {
		return err
	}
	w.v.say("%s", ack{kind: "checkpoint", id: string(asked.Checkpoint.ID), hash: asked.Checkpoint.Hash.String()})
	verdict := []posthouse.Verdict{posthouse.Approve, posthouse.Reject}[w.rnd.IntN(2)]
	_, err = w.l.Decide(ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: verdict, By: "somebody"})
	if err != nil {
		return err
	}
	w.v.say("%s", ack{kind: "decision", id: string(asked.Gates[0].ID), hash: string(verdict)})
	return nil
}

func (w *writer) fork(ctx context.Context, from posthouse.ID) error {
	c, err := w.l.Fork(ctx, from, nil)
	if err == nil {
		w.v.say("%s", ack{kind: "checkpoint", id: string(c.ID), hash: c.Hash.String()})
	}
	return err
}

func (w *writer) slot(ctx context.Context, thread string, step int) error {
	key := posthouse.SlotKey{Thread: thread, Step: fmt.Sprint("s", step%2)}
	value := fmt.Appendf(nil, "%x", w.rnd.Uint64())
	s, err := w.l.Store().Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision})
	if err == nil {
		w.v.say("%s", ack{kind: "slot", id: key.Thread, step: key.Step, revision: s.Revision, hash: hashOf(value)})
	}
	return err
}
