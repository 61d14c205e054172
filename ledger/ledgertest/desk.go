package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/storetest"
)

// ledgerCases are the rules that the Ledger keeps on top of any store: the
// behaviour of the origins' checkpoint stores, where it is ours too.
func ledgerCases() []Case {
	return slices.Concat(
		ledgerSaveCases(), ledgerListCases(), ledgerForkCases(), ledgerDeleteCases(),
		ledgerGateCases(), ledgerPeopleCases(), ledgerInboxCases(), ledgerLeaseCases(), ledgerEventCases(), ledgerStateCases(),
		ledgerSharedCases(), ledgerKeepCases(), ledgerRetainCases(), ledgerSealedCases(), ledgerReleaseCases(), ledgerCopyCases(), ledgerSignalCases(), ledgerOwnCases(), ledgerLogCases(),
	)
}

// A desk is a Ledger with short ways to do things to it.
type desk struct {
	*T
	*ledger.Ledger
	clock *storetest.Clock
}

func (t *T) desk(o ledger.Options) *desk {
	t.Helper()
	return t.deskOn(t.Store, o)
}

// deskOn is desk over a store that wraps the one under test.
func (t *T) deskOn(s posthouse.Store, o ledger.Options) *desk {
	t.Helper()
	c := storetest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if o.Now == nil {
		o.Now = c.Now
	}
	if o.Cipher == nil {
		o.Cipher = t.Options.Cipher
	}
	l, err := ledger.Open(s, &o)
	t.OK(err)
	return &desk{t, l, c}
}

func state(v string) posthouse.State {
	return posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte(v)}}
}

func content(c *posthouse.Checkpoint) string { return string(c.State[posthouse.OpaquePart].Data) }

func (d *desk) save(c *posthouse.Checkpoint) *posthouse.Checkpoint {
	d.Helper()
	s, err := d.Save(d.ctx, c, nil)
	d.OK(err)
	return s
}

// root saves a root in a thread under a coordination.
func (d *desk) root(thread, coordination, v string) *posthouse.Checkpoint {
	d.Helper()
	c := posthouse.Root(coordination, state(v))
	c.Thread = thread
	return d.save(c)
}

func (d *desk) derive(c *posthouse.Checkpoint, v string) *posthouse.Checkpoint {
	d.Helper()
	return d.save(c.Derive(state(v)))
}

func (d *desk) get(id posthouse.ID) *posthouse.Checkpoint {
	d.Helper()
	c, err := d.Get(d.ctx, id)
	d.OK(err)
	return c
}

// states lists what a query finds, by content.
func (d *desk) states(q posthouse.Query) []string {
	d.Helper()
	var out []string
	for c, err := range d.ListStates(d.ctx, q) {
		d.OK(err)
		out = append(out, content(c))
	}
	return out
}

func (d *desk) wantStates(q posthouse.Query, want ...string) {
	d.Helper()
	if got := d.states(q); !slices.Equal(got, want) {
		d.Errorf("query %+v finds %q, want %q", q, got, want)
	}
}

// wantErr stops the case unless err matches the sentinel; it returns the error.
func (d *desk) wantErr(err error, sentinel *posthouse.Error) *posthouse.Error {
	d.Helper()
	var e *posthouse.Error
	if !errors.Is(err, sentinel) || !errors.As(err, &e) {
		d.Fatalf("error is %v, want code %q", err, sentinel.Code)
	}
	return e
}

// ask commits a waiting checkpoint with gates and returns what was committed.
func (d *desk) ask(thread string, gates ...posthouse.Gate) *posthouse.Committed {
	d.Helper()
	done, err := d.Commit(d.ctx, &ledger.Draft{
		Thread: thread, Gates: gates, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "ask", Next: []string{"ask"},
			State: state("waiting in " + thread),
		},
	})
	d.OK(err)
	return done
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

func isCode(err error, code posthouse.Code) bool {
	return errors.Is(err, &posthouse.Error{Code: code})
}
