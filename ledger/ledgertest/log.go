package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

func ledgerLogCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a log lacks nothing", Rule: "Log yields every entry that the summary vouches for, or fails with ErrCorrupt that names the thread and the place, in either direction, as a whole and in part; what was deleted, released and dropped is no damage.", Run: ledgerLogLacksNothing},
		{Name: "ledger/executions and exports lack nothing", Rule: "Where an entry is lost, what an execution has on record and what an export holds is what it was, or ErrCorrupt.", Run: ledgerRecordLacksNothing},
		{Name: "ledger/a watch notices what is lost", Rule: "A watch yields ErrCorrupt with thread and number where entries of a thread do not follow one another, and goes on behind it.", Run: ledgerWatchLacksNothing},
	}
}

// A lossy store lacks some entries of a thread.
type lossy struct {
	posthouse.Store
	thread string
	lost   func(seq uint64) bool
}

func (s *lossy) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		n, limit := 0, r.Limit
		r.Limit = 0
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && thread == s.thread && s.lost(e.Seq) {
				continue
			}
			if !yield(e, err) {
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

// Find does not find ids of lost entries.
func (s *lossy) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := s.Store.Find(ctx, id)
	if err == nil && ref.Thread == s.thread && s.lost(ref.Seq) {
		return posthouse.Ref{}, posthouse.ErrNotFound
	}
	return ref, err
}

// logsOf makes threads with all kinds of gaps and returns their names.
func logsOf(d *desk.Desk) []string {
	d.Helper()
	d.Derive(d.Derive(d.Root("plain", "", "0"), "1"), "2")
	d.Ask("plain", posthouse.Gate{Name: "ok?", Task: "3/n"})
	for _, thread := range []string{"released", "dropped", "first gone"} {
		for i := range 3 {
			d.Derive(d.Root(thread, "", fmt.Sprint(i, "a")), fmt.Sprint(i, "b"))
			d.MustRelease(thread, nil)
		}
		d.Derive(d.Root(thread, "", "now"), "and then")
	}
	for thread, version := range map[string]string{"dropped": "2", "first gone": "1"} {
		_, err := retain.DropRelease(d.Ctx, d.Ledger, thread, version, nil)
		d.OK(err)
	}
	d.Derive(d.Root("deleted", "", "old"), "older")
	_, err := retain.DeleteThread(d.Ctx, d.Ledger, "deleted", nil)
	d.OK(err)
	d.Derive(d.Derive(d.Root("deleted", "", "new"), "newer"), "newest")
	return []string{"plain", "released", "dropped", "first gone", "deleted"}
}

// ranges returns ranges of a log that ends at last.
func ranges(last uint64) (all []posthouse.Range) {
	for _, r := range []posthouse.Range{{}, {From: 1}, {From: 2}, {From: 3, To: last - 1}, {From: last}, {To: last + 9}, {From: last + 1}, {To: 2}, {Limit: 2}, {From: 2, Limit: 3}, {Limit: int(last)}} {
		for _, back := range []bool{false, true} {
			for _, headers := range []bool{false, true} {
				r.Reverse, r.Headers = back, headers
				all = append(all, r)
			}
		}
	}
	return all
}

// seqsOf reads a log, as far as it goes.
func seqsOf(d *desk.Desk, thread string, r posthouse.Range) (seqs []uint64, err error) {
	for e, err := range d.Log(d.Ctx, thread, r) {
		if err != nil {
			return seqs, err
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, nil
}

// losses returns sets of entries to lose.
func losses(seqs []uint64) map[string]func(uint64) bool {
	sets := map[string]func(uint64) bool{}
	for i, at := range seqs {
		sets[fmt.Sprint("entry ", at)] = func(seq uint64) bool { return seq == at }
		if i > 0 {
			sets[fmt.Sprint("all before ", at)] = func(seq uint64) bool { return seq < at }
			sets[fmt.Sprint("all from ", at)] = func(seq uint64) bool { return seq >= at }
			sets[fmt.Sprint("two from ", seqs[i-1])] = func(seq uint64) bool { return seq == seqs[i-1] || seq == at }
		}
	}
	sets["all"] = func(uint64) bool { return true }
	return sets
}

func ledgerLogLacksNothing(t *desk.T) {
	d := t.Desk(ledger.Options{})
	noticed := 0
	for _, thread := range logsOf(d) {
		all, err := seqsOf(d, thread, posthouse.Range{})
		t.OK(err)
		var want [][]uint64
		rs := ranges(all[len(all)-1])
		for _, r := range rs {
			seqs, err := seqsOf(d, thread, r)
			if err != nil {
				t.Errorf("thread %s, %+v: %v", thread, r, err)
			}
			want = append(want, seqs)
		}
		for what, lost := range losses(all) {
			bad := t.DeskOn(&lossy{t.Store, thread, lost}, ledger.Options{})
			for i, r := range rs {
				got, err := seqsOf(bad, thread, r)
				switch {
				case err != nil && !errors.Is(err, posthouse.ErrCorrupt):
					t.Errorf("thread %s without %s, %+v: %v", thread, what, r, err)
				case err != nil && (!strings.Contains(err.Error(), fmt.Sprintf("thread %q", thread)) || !strings.Contains(err.Error(), "entr")):
					t.Errorf("thread %s without %s, %+v: the error does not say where: %v", thread, what, r, err)
				case err != nil:
					noticed++
					if !prefixOf(got, want[i]) {
						t.Errorf("thread %s without %s, %+v: before the error came %v of %v", thread, what, r, got, want[i])
					}
				case !slices.Equal(got, want[i]):
					t.Errorf("thread %s without %s, %+v: the log has %v, want %v", thread, what, r, got, want[i])
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no loss was noticed")
	}
}

func prefixOf(got, want []uint64) bool {
	return len(got) <= len(want) && slices.Equal(got, want[:len(got)])
}

func ledgerRecordLacksNothing(t *desk.T) {
	d := t.Desk(ledger.Options{})
	head := d.Root("t", "", "0")
	for i := range 5 {
		_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{
			Task: "1/n", Name: fmt.Sprint("s", i), Value: posthouse.Value{Codec: "json", Data: []byte(fmt.Sprint(i))},
		}}})
		t.OK(err)
	}
	look := func(d *desk.Desk) (string, error) {
		x, err := desk.ExecutionOf(t.Ctx, d.Ledger, &head.Header, "1/n")
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, s := range x.Steps {
			fmt.Fprintf(&b, "%s=%s ", s.Name, s.Value.Data)
		}
		return b.String(), nil
	}
	export := func(d *desk.Desk) (string, error) {
		var b strings.Builder
		_, err := transfer.Export(t.Ctx, d.Ledger, "t", &b, nil)
		return b.String(), err
	}
	for what, ask := range map[string]func(*desk.Desk) (string, error){"execution": look, "export": export} {
		want, err := ask(d)
		t.OK(err)
		for lost, is := range losses([]uint64{1, 2, 3, 4, 5, 6}) {
			got, err := ask(t.DeskOn(&lossy{t.Store, "t", is}, ledger.Options{}))
			if err != nil && !errors.Is(err, posthouse.ErrCorrupt) || err == nil && got != want {
				t.Errorf("%s without %s: %d bytes for %d, %v", what, lost, len(got), len(want), err)
			}
		}
	}
}

func ledgerWatchLacksNothing(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for _, thread := range []string{"a", "b"} {
		c := d.Root(thread, "", "0")
		for i := range 4 {
			c = d.Derive(c, fmt.Sprint(i))
		}
	}
	logsOf(d) // gaps that are no gaps
	d.Root("z", "", "the end")
	watch := func(d *desk.Desk) (seqs []uint64, faults []string) {
		for ev, err := range d.Watch(t.Ctx, ledger.WatchQuery{}) {
			switch {
			case err != nil && (ev == nil || !errors.Is(err, posthouse.ErrCorrupt)):
				t.Fatalf("%v", err)
			case err != nil:
				faults = append(faults, fmt.Sprintf("%s %d", ev.Thread, ev.Seq))
			case ev.Thread == "z":
				return seqs, faults
			case ev.Thread == "a":
				seqs = append(seqs, ev.Seq)
			}
		}
		return seqs, faults
	}
	seqs, faults := watch(d)
	if len(seqs) != 5 || len(faults) != 0 {
		t.Fatalf("whole: %v, faults %q", seqs, faults)
	}
	bad := t.DeskOn(&lossy{t.Store, "a", func(seq uint64) bool { return seq == 3 }}, ledger.Options{Poll: 1})
	seqs, faults = watch(bad)
	if !slices.Equal(seqs, []uint64{1, 2, 5}) || !slices.Equal(faults, []string{"a 4"}) {
		t.Errorf("without entry 3 it yields %v and the faults %q", seqs, faults)
	}
}
