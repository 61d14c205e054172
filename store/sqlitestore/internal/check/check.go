package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/sqlschema"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
	index "github.com/posthouse/posthouse/store/sqlitestore/internal/lists"
)

// A Source is what is checked.
type Source struct {
	Read    db.Reader
	Readers int // reads that may run at once
	Schema  func() ([]sqlschema.Migration, error)
}

// Run checks a database and yields what is wrong. It runs SQLite's own integrity check.
// Then it checks each thread: its log must chain and have the hashes it was written
// with, and rows, summary and index must be what the log says. Then it searches the
// indexes for rows that belong to nothing. It does not read bodies, which posthouse
// verify does. It sees each thread as it is at one moment, so writers may go on.
func Run(ctx context.Context, source Source) iter.Seq[error] {
	return func(yield func(error) bool) {
		k := &checker{Source: source, ctx: ctx}
		steps := []func(*db.Conn) (more bool, err error){k.integrity, k.schema, nil, k.ids, k.orders, k.openGates, k.rest}
		for _, step := range steps {
			if step == nil {
				if !k.threads(yield) {
					return
				}
				continue
			}
			for more := true; more; {
				k.found = nil
				err := k.Read(ctx, "check", func(c *db.Conn) (err error) {
					more, err = step(c)
					return err
				})
				if err != nil {
					k.found, more = append(k.found, err), false
				}
				for _, err := range k.found {
					if !yield(err) {
						return
					}
				}
				if err != nil && !layout.Refused(err) {
					return
				}
			}
		}
	}
}

// A checker checks a database in steps, each in a read transaction of its own, and
// collects what it finds.
type checker struct {
	Source
	ctx   context.Context
	found []error

	gateRows int // rows that the open gates so far must have
}

const maxFound = 100 // in one step, which is enough for a broken thread

func (k *checker) differs(format string, args ...any) {
	if len(k.found) < maxFound {
		k.found = append(k.found, posthouse.Corrupt(format, args...))
	}
}

func (k *checker) integrity(c *db.Conn) (bool, error) {
	c.SetInterrupt(k.ctx.Done())
	defer c.SetInterrupt(nil)
	for stmt, err := range c.Rows("PRAGMA integrity_check(100)") {
		if err != nil {
			return false, cmp.Or(k.ctx.Err(), err)
		}
		if t := stmt.ColumnText(0); t != "ok" {
			k.differs("SQLite says: %s", t)
		}
	}
	return false, k.ctx.Err()
}

// A threadCheck folds one thread's log and compares it with the thread's rows.
type threadCheck struct {
	*checker
	c      *db.Conn
	id     int64
	name   string
	stored *layout.Summary
	fold   fold // as the log says, so far
	met    bool // the fold has reached the entry of the stored summary

	highest  posthouse.OrderKey
	disorder bool                  // order keys do not ascend
	missing  map[posthouse.ID]bool // checkpoints and gates of the log that the index does not lead to
	removed  int                   // checkpoints and gates that removals attest
	terms    index.Terms           // index terms already looked up
}

// A fold is what a thread's log says of it, up to an entry.
type fold struct {
	info  posthouse.ThreadInfo
	begun bool
	whole bool // the log begins at its first entry
	gap   bool // a dropped version left a gap in the log
}

// skipsTo prepares the fold for the next entry. It reports whether entries before that one are
// missing.
func (f *fold) skipsTo(e *posthouse.Entry) bool {
	if !f.begun {
		f.begun, f.whole = true, e.Seq == 1
		if !f.whole {
			f.info = posthouse.ThreadInfo{Thread: e.Thread, Generation: e.Generation, Link: e.Prev}
			f.info.Tail.Seq = e.Seq - 1
		}
	}
	skips := e.Seq > f.info.Tail.Seq+1
	f.gap = f.gap || skips
	return skips
}

func (k *checker) thread(c *db.Conn, id int64) error {
	t := &threadCheck{checker: k, c: c, id: id, missing: map[posthouse.ID]bool{}, terms: index.Terms{}}
	if err := t.load(); err != nil || t.stored == nil {
		return err
	}
	if err := t.walk(); err != nil {
		return err
	}
	t.compare()
	return t.gates()
}

func (t *threadCheck) load() error {
	if _, err := t.c.Row(layout.SelectThreadName, func(stmt *sqlite.Stmt) { t.name = stmt.ColumnText(0) }, t.id); err != nil {
		return err
	}
	for stmt, err := range t.c.Rows(layout.SelectThread, t.name) {
		if err != nil {
			return err
		}
		s, err := layout.StoredSummary(stmt)
		if errors.Is(err, posthouse.ErrCorrupt) {
			t.differs("the summary of thread %q cannot be read, and is made from its log each time: %v", t.name, err)
			err = layout.Refold(t.c, s)
		}
		t.stored = s
		if err != nil {
			return err
		}
		_, err = t.c.Row(qMinute, func(stmt *sqlite.Stmt) { s.Row.Minute = posthouse.Millis(stmt.ColumnInt64(0)) }, t.id)
		return err
	}
	t.differs("thread %q has no tail", t.name)
	return nil
}

// walk folds the log and looks each id up.
func (t *threadCheck) walk() error {
	for stmt, err := range t.c.Rows(qCheckLog, t.id) {
		err = cmp.Or(err, t.ctx.Err())
		if err != nil {
			return err
		}
		e, err := layout.ScanHead(stmt, t.name)
		if err == nil {
			err = t.visit(stmt, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *threadCheck) visit(stmt *sqlite.Stmt, e *posthouse.Entry) error {
	if e.Sum() != e.Hash {
		return posthouse.Corrupt("entry %d of thread %q does not have the hash it was written with", e.Seq, e.Thread)
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	if err := t.apply(e, records); err != nil {
		return err
	}
	id, cid := stmt.ColumnInt64(layout.ColID), false
	orphan := false // its checkpoint is not in the index, so its gates need not be
	for i := range records {
		if m := records[i].Removal; m != nil {
			t.removed += m.Count + m.Archived + len(m.Gates)
		}
		h := records[i].Checkpoint
		if h == nil {
			continue
		}
		k := layout.KeyOf(h.ID)
		own := layout.IsCurrent(stmt, &k) && k.Ordered(h.Order)
		cid = cid || own
		current := own
		if !own {
			p, err := layout.FindPlace(t.c, &k)
			if err != nil {
				return err
			}
			current = p.Entry == id
			orphan = p.Thread != t.id
			if orphan {
				t.missing[h.ID] = true
			}
		}
		if err := t.checkpoint(h, id, current, own); err != nil {
			return err
		}
	}
	t.meet()
	if !cid && !stmt.ColumnIsNull(layout.ColCID) {
		t.differs("entry %d of thread %q is marked as the place of a checkpoint that it does not have", e.Seq, t.name)
	}
	for i := range records {
		if g := records[i].Gate; g != nil && !orphan {
			if err := t.gate(g.ID, e.Seq, id); err != nil {
				return err
			}
		}
		if s := records[i].Signal; s != nil {
			if err := t.gate(s.ID, e.Seq, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply applies one more entry to the fold.
func (t *threadCheck) apply(e *posthouse.Entry, records []posthouse.Record) error {
	if t.fold.skipsTo(e) {
		// The version that was dropped here may have had newer revisions of what is
		// missing, and the highest order key.
		clear(t.missing)
	}
	at := t.fold.info.Tail.Seq
	if of := t.stored.Info.Tail.Seq; of < e.Seq && (at < of || !t.fold.whole && at == e.Seq-1) {
		t.met = true // the stored summary ends at an entry that is gone
	}
	return t.fold.info.ApplyRecords(e, records)
}

// checkpoint checks that a checkpoint has its rows in the indexes.
func (t *threadCheck) checkpoint(h *posthouse.Header, entry int64, current, own bool) error {
	switch cmp := layout.CompareKeys(h.Order, t.highest); {
	case cmp > 0:
		t.highest = h.Order
	case cmp < 0:
		t.disorder = true
	}
	if !current {
		return nil
	}
	delete(t.missing, h.ID)
	switch missing, err := index.Missing(t.c, t.id, h, t.terms); {
	case err != nil:
		return err
	case missing:
		t.differs("checkpoint %q of thread %q is missing from the index of runs, graphs, nodes, agents and labels", h.ID, t.name)
	}
	if !own {
		if err := t.hasOrder(h, 0, entry, "the index of order keys"); err != nil {
			return err
		}
	}
	if h.Coordination == t.name {
		return nil
	}
	return t.hasOrder(h, layout.CoordinationKey(h.Coordination), entry, "the index of its coordination")
}

func (t *threadCheck) hasOrder(h *posthouse.Header, coordination, entry int64, where string) error {
	found, err := t.c.Has(qHasOrder, coordination, h.Order[:], entry)
	if err == nil && !found {
		t.differs("checkpoint %q of thread %q is missing from %s", h.ID, t.name, where)
	}
	return err
}

func (t *threadCheck) gate(id posthouse.ID, seq uint64, entry int64) error {
	k := layout.KeyOf(id)
	p, err := layout.FindPlace(t.c, &k)
	switch {
	case err != nil:
		return err
	case p.Thread != t.id:
		t.missing[id] = true
	case p.Entry != entry && p.Seq < seq:
		t.differs("the index leads from gate %q of thread %q to entry %d, which is older than the gate", id, t.name, p.Seq)
	default:
		delete(t.missing, id)
	}
	return nil
}

// meet compares the stored summary with the fold at the entry where the summary ends.
func (t *threadCheck) meet() {
	if t.fold.info.Tail.Seq != t.stored.Info.Tail.Seq {
		return
	}
	t.met = t.fold.info.Tail == t.stored.Info.Tail
	if !t.fold.whole {
		return
	}
	if !lists.Same(t.stored.Info, &t.fold.info) {
		t.differs("the summary of thread %q is not what its log says", t.name)
	}
	if cmp := layout.CompareKeys(t.stored.Top, t.highest); cmp < 0 || cmp > 0 && !t.fold.gap {
		t.differs("the order keys of thread %q are not what its row says", t.name)
	}
}

func (t *threadCheck) compare() {
	info := t.stored.Info
	if t.stored.Row != layout.RowOf(info, t.stored.Row.Flags) {
		t.differs("the columns of thread %q are not what its summary says", t.name)
	}
	if t.stored.Seq != info.Tail.Seq {
		t.differs("appends to thread %q wait for entry %d, its summary ends at %d", t.name, t.stored.Seq, info.Tail.Seq)
	}
	if info.Thread != t.name {
		t.differs("thread %q has the summary of thread %q", t.name, info.Thread)
	}
	if !t.fold.begun {
		return // all entries were removed
	}
	if !t.met || !t.mayLag() {
		t.differs("the summary of thread %q ends at entry %d, its log at %d", t.name, info.Tail.Seq, t.fold.info.Tail.Seq)
		return
	}
	if !t.fold.whole {
		return
	}
	if len(t.missing) > t.removed {
		t.differs("%d checkpoints and gates of thread %q were removed, but the index does not lead to %d: %s",
			t.removed, t.name, len(t.missing), few(t.missing))
	}
	if t.disorder && t.stored.Row.Flags&layout.FlagDisorder == 0 {
		t.differs("the order keys of thread %q are not what its row says", t.name)
	}
}

// mayLag reports whether the stored summary may end where it does.
func (t *threadCheck) mayLag() bool {
	lag := t.fold.info.Tail.Seq - t.stored.Info.Tail.Seq
	return lag == 0 || lag < layout.MaxLag && t.stored.Row.MayLag() && (!t.fold.whole || t.stored.Row == layout.RowOf(&t.fold.info, t.stored.Row.Flags))
}

func few(set map[posthouse.ID]bool) string {
	ids := slices.Sorted(maps.Keys(set))
	if len(ids) > 5 {
		return fmt.Sprintf("%q and %d more", ids[:5], len(ids)-5)
	}
	return fmt.Sprintf("%q", ids)
}
