package filestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// A change is one write of a workload, for the store and for the model. It can be done
// again.
type change struct {
	what string
	do   func(context.Context, posthouse.Store) error
}

// workload is something of everything.
func workload() (all []change) {
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("a"), b.Log("b"), b.Log("c")}
	add := func(what string, do func(context.Context, posthouse.Store) error) {
		all = append(all, change{what, do})
	}
	entry := func(l *storetest.Log, items ...storetest.Item) {
		batch := l.Next(items...)
		l.Took(batch)
		add(fmt.Sprintf("append %d to %s", batch.Entry.Seq, batch.Entry.Thread), func(ctx context.Context, s posthouse.Store) error { return s.Append(ctx, batch) })
	}
	bulk := func(l *storetest.Log, n int) {
		var bs []*posthouse.Batch
		for range n {
			batch := l.Next(l.Checkpoint(posthouse.Header{}, "bulk"))
			l.Took(batch)
			bs = append(bs, batch)
		}
		add(fmt.Sprint("bulk to ", l.Info.Thread), func(ctx context.Context, s posthouse.Store) error {
			if all, ok := s.(posthouse.BulkAppender); ok {
				return all.AppendAll(ctx, bs)
			}
			for _, batch := range bs {
				if err := s.Append(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	remove := func(r posthouse.Removal) {
		add(fmt.Sprintf("remove %+v", r), func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Remove(ctx, r)
			return err
		})
	}
	slot := func(thread, value string) {
		add("slot of "+thread, func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Slot(ctx, posthouse.SlotKey{Thread: thread, Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(value), Revision: posthouse.AnyRevision})
			return err
		})
	}
	copied := b.Resume(&posthouse.ThreadInfo{Thread: "d", Generation: 2, Tail: posthouse.Position{Seq: 40, Hash: posthouse.Hash{1}}, Link: posthouse.Hash{2}})
	first := copied.Next(copied.Checkpoint(posthouse.Header{}, "gone"), copied.Step("s", []byte("kept")))
	first.Copy, first.After, first.Entry.Bodies[0] = true, posthouse.Position{}, nil
	copied.Took(first)
	add("copy to d", func(ctx context.Context, s posthouse.Store) error { return s.Append(ctx, first) })
	entry(copied, copied.Step("next", []byte("written here")))
	for round := range 3 {
		for i, l := range logs {
			entry(l, l.Checkpoint(posthouse.Header{Node: fmt.Sprint("n", round), Status: posthouse.StatusRunning}, fmt.Sprint("state ", round, i)), l.Step("s", storetest.Filler(300*(i+1), "result")))
			slot(l.Info.Thread, fmt.Sprint("value ", round))
			slot(l.Info.Thread, string(storetest.Filler(150, fmt.Sprint("value ", round))))
		}
		entry(logs[0], logs[0].Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "asks"), logs[0].Gate(b.GateID(), b.Now()))
		bulk(logs[round], 4)
		switch round {
		case 0:
			remove(posthouse.Removal{Thread: "b", Bodies: []posthouse.BodyRef{{Seq: 1}}})
		case 1:
			remove(posthouse.Removal{Thread: "a", Below: 3})
		case 2:
			remove(posthouse.Removal{Thread: "c", All: true})
			add("compact", func(ctx context.Context, s posthouse.Store) error {
				if c, ok := s.(posthouse.Compacter); ok {
					_, err := c.Compact(ctx)
					return err
				}
				return nil
			})
		}
	}
	entry(logs[0], logs[0].Step("last", []byte("x")))
	return all
}

// openOn opens a store on a disk in memory, with small segments.
func openOn(ctx context.Context, d *disk, early bool) (*Store, error) {
	return Open(ctx, "/store", &Options{system: d, segment: cmp.Or(d.segment, 1500), early: early})
}

// seeds is how often a cut is repeated with other luck: FILESTORE_SEEDS, or n.
func seeds(n int) int {
	if v, err := strconv.Atoi(os.Getenv("FILESTORE_SEEDS")); err == nil && v > 0 {
		return v
	}
	return n
}

// run does the workload until something fails, and the model what succeeded. It returns
// how many changes did.
func run(ctx context.Context, s *Store, model posthouse.Store, all []change) (done int, err error) {
	for _, c := range all {
		if err := c.do(ctx, s); err != nil {
			return done, fmt.Errorf("%s: %w", c.what, err)
		}
		if err := c.do(ctx, model); err != nil {
			panic(err)
		}
		done++
	}
	return done, nil
}

// content is all that a store shows, as text.
func content(ctx context.Context, s posthouse.Store) (string, error) {
	var out []byte
	note := func(v any, err error) error {
		if err != nil {
			return err
		}
		b, err := json.Marshal(v)
		out = append(append(out, b...), '\n')
		return err
	}
	for _, thread := range []string{"a", "b", "c", "d"} {
		for e, err := range s.Read(ctx, thread, posthouse.Range{}) {
			if err := note(e, err); err != nil {
				return "", err
			}
		}
		got, err := s.Slot(ctx, posthouse.SlotKey{Thread: thread, Step: "s"}, posthouse.SlotOp{})
		if errors.Is(err, posthouse.ErrNotFound) {
			err = nil
		}
		if err := note(string(got.Value), err); err != nil {
			return "", err
		}
	}
	for info, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if err := note(info, err); err != nil {
			return "", err
		}
	}
	for h, err := range s.List(ctx, posthouse.Query{}) {
		if err := note(h, err); err != nil {
			return "", err
		}
		if _, err := s.Find(ctx, h.ID); err != nil {
			return "", err
		}
	}
	return string(out), nil
}

// same opens what a fault left, does the change again that it met, and compares the store
// with the model.
func same(ctx context.Context, d *disk, model posthouse.Store, next *change) error {
	s, err := openOn(ctx, d, false)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { _ = s.Close() }()
	if next != nil {
		if err := errors.Join(next.do(ctx, s), next.do(ctx, model)); err != nil {
			return fmt.Errorf("%s once more: %w", next.what, err)
		}
	}
	for err := range s.Check(ctx) {
		return fmt.Errorf("check: %w", err)
	}
	want, err := content(ctx, model)
	if err != nil {
		return err
	}
	got, err := content(ctx, s)
	if err == nil && got != want {
		err = fmt.Errorf("the store has\n%s\nand was to have\n%s", got, want)
	}
	return err
}

// TestPowerCut cuts the power before each operation of a small workload, several times
// with other luck for what was not synced: nothing acknowledged is lost. The control arms,
// which acknowledge before the sync or sync no directory, must lose something.
func TestPowerCut(t *testing.T) {
	ctx := t.Context()
	all := workload()
	lost := func(early, names bool, seeds int) (lost, cuts int) {
		bad := early || names
		for cut := 1; ; cut++ {
			for seed := range seeds {
				d, model := newDisk(), storetest.NewModel()
				d.cut, d.careless = cut, names
				d.segment = 1500 + int64(seed%5)*700
				s, err := openOn(ctx, d, early)
				done := 0
				if err == nil {
					done, err = run(ctx, s, model, all)
					_ = s.Close()
				}
				if d.ops < cut {
					if seed > 0 {
						continue // larger segments take fewer operations
					}
					return lost, cuts
				}
				cuts++
				var next *change
				if done < len(all) {
					next = &all[done]
				}
				rnd := rand.New(rand.NewPCG(uint64(seed), uint64(cut)))
				left := d.after(rnd)
				if seed%2 == 1 { // the power goes again while the store is opened
					left.cut = 1 + rnd.IntN(12)
					if s, err := openOn(ctx, left, false); err == nil {
						_ = s.Close()
					}
					left = left.after(rnd)
				}
				if why := same(ctx, left, model, next); why != nil {
					if lost++; !bad {
						t.Errorf("cut %d (%s) after %d changes, seed %d (%v): %v", cut, d.failed, done, seed, err, why)
						if lost > 3 {
							return lost, cuts
						}
					}
				}
			}
		}
	}
	n, cuts := lost(false, false, seeds(6))
	t.Logf("%d cuts, %d lost something", cuts, n)
	if cuts < 500 {
		t.Errorf("only %d cuts", cuts)
	}
	for what, arm := range map[string][2]bool{"acknowledged before the sync": {true, false}, "directories are not synced": {false, true}} {
		n, cuts = lost(arm[0], arm[1], 1)
		t.Logf("%s: %d cuts, %d lost something", what, cuts, n)
		if n < 10 {
			t.Errorf("%s: something is lost in %d cuts of %d: the test cannot see what it is for", what, n, cuts)
		}
	}
}

// TestFailingSync fails each sync once: acknowledged writes are there, the caller of the
// failed commit gets ErrUnknown or an error, and the store takes no more writes.
func TestFailingSync(t *testing.T) {
	ctx := t.Context()
	all := workload()
	for fail := 1; ; fail++ {
		d, model := newDisk(), storetest.NewModel()
		d.fail = fail
		s, err := openOn(ctx, d, false)
		done := 0
		if err == nil {
			done, err = run(ctx, s, model, all)
			if err != nil {
				if !errors.Is(err, posthouse.ErrUnknown) && !errors.Is(err, posthouse.ErrReadOnly) {
					t.Errorf("sync %d (%s): %v", fail, d.failed, err)
				}
				if err := all[done].do(ctx, s); !errors.Is(err, posthouse.ErrReadOnly) {
					t.Errorf("sync %d (%s), another write: %v", fail, d.failed, err)
				}
			}
			_ = s.Close()
		}
		if d.failed == "" {
			t.Logf("%d syncs", fail-1)
			return
		}
		if err == nil && done < len(all) {
			t.Errorf("sync %d (%s) failed in silence", fail, d.failed)
		}
		var next *change
		if done < len(all) {
			next = &all[done]
		}
		if err := same(ctx, d.after(rand.New(rand.NewPCG(1, uint64(fail)))), model, next); err != nil {
			t.Errorf("sync %d (%s) failed after %d changes: %v", fail, d.failed, done, err)
		}
	}
}

// TestFailingOperation fails each operation that changes a file or a name once: what was
// acknowledged is there when the store is opened again.
func TestFailingOperation(t *testing.T) {
	ctx := t.Context()
	all := workload()
	for bad := 1; ; bad++ {
		d, model := newDisk(), storetest.NewModel()
		d.bad = bad
		s, err := openOn(ctx, d, false)
		done := 0
		if err == nil {
			done, err = run(ctx, s, model, all)
			_ = s.Close()
		}
		if d.failed == "" {
			t.Logf("%d operations", bad-1)
			return
		}
		var next *change
		if done < len(all) {
			next = &all[done]
		}
		if why := same(ctx, d.after(rand.New(rand.NewPCG(2, uint64(bad)))), model, next); why != nil {
			t.Errorf("operation %d (%s) failed after %d changes (%v): %v", bad, d.failed, done, err, why)
		}
	}
}

// TestFullDisk fills the disk before each operation: a write fails with ErrFull and goes
// through without opening the store again once there is room.
func TestFullDisk(t *testing.T) {
	ctx := t.Context()
	all := workload()
	for full := 1; ; full++ {
		d, model := newDisk(), storetest.NewModel()
		d.full = full
		s, err := openOn(ctx, d, false)
		if err != nil {
			if d.mu.Lock(); !errors.Is(err, posthouse.ErrFull) {
				t.Errorf("full at %d (%s): Open: %v", full, d.failed, err)
			}
			d.full = 0
			d.mu.Unlock()
			s, err = openOn(ctx, d, false)
			if err != nil {
				t.Fatalf("full at %d (%s): Open with room: %v", full, d.failed, err)
			}
		}
		done, err := run(ctx, s, model, all)
		if err != nil {
			if !errors.Is(err, posthouse.ErrFull) {
				t.Errorf("full at %d (%s): %v", full, d.failed, err)
			}
			d.mu.Lock()
			d.full = 0
			d.mu.Unlock()
			if _, err := run(ctx, s, model, all[done:]); err != nil {
				t.Errorf("full at %d (%s), with room: %v", full, d.failed, err)
			}
		}
		met := d.failed
		_ = s.Close()
		d.full = 0
		if met == "" {
			t.Logf("%d operations", full-1)
			return
		}
		if err := same(ctx, d, model, nil); err != nil {
			t.Errorf("full at %d (%s) after %d changes: %v", full, met, done, err)
		}
	}
}
