package redisstore

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/away"
)

// Check implements [posthouse.Checker]. Each log must chain and have the hashes it was
// written with; summaries, index and lists must be what it says. Bodies are not read,
// which posthouse verify does. Writers may go on: what differs is looked at again, and
// counts if it still does.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return away.Checks(func(yield func(error) bool) {
		checks := []func(context.Context) ([]error, error){s.checkIndex, s.checkLists}
		walk := &threadWalk{s: s}
		for more := true; more; {
			var page []string
			var err error
			page, more, err = walk.namesPage(ctx)
			if err != nil {
				yield(err)
				return
			}
			for _, name := range page {
				if !s.confirm(ctx, yield, func(ctx context.Context) ([]error, error) { return s.checkThread(ctx, name) }) {
					return
				}
			}
		}
		for _, check := range checks {
			if !s.confirm(ctx, yield, check) {
				return
			}
		}
	})
}

// confirm yields what a check finds each of three times. It reports false if it is to end.
func (s *Store) confirm(ctx context.Context, yield func(error) bool, check func(context.Context) ([]error, error)) bool {
	var found []error
	for i := range 3 {
		now, err := check(ctx)
		if err != nil {
			yield(err)
			return false
		}
		if i > 0 {
			now = slices.DeleteFunc(now, func(e error) bool {
				return !slices.ContainsFunc(found, func(f error) bool { return f.Error() == e.Error() })
			})
		}
		found = now
		if len(found) == 0 {
			return true
		}
	}
	for _, err := range found {
		if !yield(err) {
			return false
		}
	}
	return true
}

// namesPage returns the next names of threads.
func (w *threadWalk) namesPage(ctx context.Context) (names []string, more bool, err error) {
	from := "-"
	if w.After != "" {
		from = "(" + w.After
	}
	m, err := w.s.get(ctx, "check", "ZRANGEBYLEX", w.s.prefix+"names", from, "+", "LIMIT", "0", strconv.Itoa(maxRows))
	if err != nil {
		return nil, false, err
	}
	names, err = m.Texts()
	if len(names) > 0 {
		w.After = names[len(names)-1]
	}
	return names, len(names) == maxRows, w.s.wrap("check", err)
}

// A threadCheck folds one thread's log and compares it with what is derived from it.
type threadCheck struct {
	name  string
	fold  posthouse.ThreadInfo // as the log says, so far
	whole bool                 // the log begins at its first entry
	seqs  []uint64
	ids   map[posthouse.ID]*idCheck
	found []error
}

// An idCheck is the newest entry of the log that has an id.
type idCheck struct {
	seq    uint64
	header *posthouse.Header // of a checkpoint
}

func (t *threadCheck) differs(format string, args ...any) {
	if len(t.found) < 100 { // enough for a broken thread
		t.found = append(t.found, posthouse.Corrupt(format, args...))
	}
}

// checkThread checks one thread.
func (s *Store) checkThread(ctx context.Context, name string) ([]error, error) {
	t := &threadCheck{name: name, ids: map[posthouse.ID]*idCheck{}}
	m, err := s.get(ctx, "check", "GET", s.prefix+"t:"+name)
	if err != nil {
		return nil, err
	}
	stored, _ := m.Text()
	info, err := readRecord(name, stored)
	if err != nil {
		t.differs("the summary of thread %q cannot be read, and is made from its log each time: %v", name, err)
	} else if want, err := record(info); err != nil || want != stored {
		t.differs("appends to thread %q do not look for what its summary says", name)
	}
	r := posthouse.Range{To: 1<<63 - 1, Headers: true}
	for more := true; more; {
		var page []*storedEntry
		page, more, err = s.readPage(ctx, name, &r, maxRows)
		for _, e := range page {
			if verr := t.visit(e); verr != nil {
				return append(t.found, verr), nil // what follows cannot be compared
			}
		}
		if errors.Is(err, posthouse.ErrCorrupt) {
			return append(t.found, err), nil
		}
		if err != nil {
			return nil, err
		}
	}
	t.compare(info)
	if err := s.checkOwn(ctx, t, info); err != nil {
		return nil, err
	}
	return t.found, s.checkIDs(ctx, t)
}

// checkOwn looks for the thread in the lists of threads, gates and commits. A row too many
// does no harm: what a list finds is matched.
func (s *Store) checkOwn(ctx context.Context, t *threadCheck, info *posthouse.ThreadInfo) error {
	rows := [][2]string{} // key after the prefix, member
	if info != nil && isActive(info) {
		rows = append(rows, [2]string{"active", t.name})
	}
	if info != nil && info.Due != 0 {
		rows = append(rows, [2]string{"due", t.name})
	}
	if info != nil {
		for i := range info.Waiting {
			w := &info.Waiting[i]
			for _, list := range lists.OfGate(w) {
				rows = append(rows, [2]string{"g:" + key64(uint64(list)), string(w.ID) + "\x00" + t.name})
			}
		}
	}
	for _, seq := range t.seqs {
		rows = append(rows, [2]string{"commits", key64(seq) + t.name})
	}
	for some := range slices.Chunk(rows, maxRows) {
		if err := s.retryUnknown(ctx, "check", func(ctx context.Context) error {
			commands := make([][]string, len(some))
			for i, l := range some {
				commands[i] = []string{"ZSCORE", s.prefix + l[0], l[1]}
			}
			answers, err := s.client.DoAll(ctx, commands)
			for i := range answers {
				switch err := answers[i].Err(); {
				case answers[i].IsNil():
					t.differs("thread %q is missing from list %q, which should have %q", t.name, some[i][0], some[i][1])
				case err != nil:
					return err
				}
			}
			return err
		}); err != nil {
			return err
		}
	}
	m, err := s.get(ctx, "check", "HLEN", s.prefix+"e:"+t.name)
	if n, _ := m.Int(); err == nil && int(n) != len(t.seqs) {
		t.differs("thread %q has %d entries, and %d in the list of its log", t.name, n, len(t.seqs))
	}
	return err
}

// visit folds one entry and notes the ids that it has.
func (t *threadCheck) visit(e *storedEntry) error {
	if e.Sum() != e.Hash {
		return posthouse.Corrupt("entry %d of thread %q does not have the hash it was written with", e.Seq, e.Thread)
	}
	t.seqs = append(t.seqs, e.Seq)
	records, err := e.Records()
	if err != nil {
		return err
	}
	if t.fold.Tail.Seq == 0 {
		t.whole = e.Seq == 1
		if !t.whole { // what came before was removed
			t.fold = posthouse.ThreadInfo{Thread: t.name, Generation: e.Generation, Link: e.Prev}
			t.fold.Tail.Seq = e.Seq - 1
		}
	}
	if err := t.fold.ApplyRecords(e.Entry, records); err != nil {
		return err
	}
	kept := 0
	for i := range records {
		if records[i].Size > 0 && !e.gone.Has(i) {
			kept++
		}
	}
	if kept != e.kept {
		t.differs("entry %d of thread %q counts %d bodies, and has %d", e.Seq, t.name, e.kept, kept)
	}
	for _, id := range e.ids {
		c := &idCheck{seq: e.Seq}
		met := false
		for i := range records {
			switch r := &records[i]; {
			case r.Checkpoint != nil && r.Checkpoint.ID == id:
				c.header, met = r.Checkpoint, true
			case r.Gate != nil && r.Gate.ID == id, r.Signal != nil && r.Signal.ID == id, r.Decision != nil && r.Decision.Gate == id:
				met = true
			}
		}
		if !met {
			t.differs("entry %d of thread %q does not have the id %q that it is kept with", e.Seq, t.name, id)
		}
		t.ids[id] = c
	}
	return nil
}

// compare compares the summary with the log.
func (t *threadCheck) compare(info *posthouse.ThreadInfo) {
	if info == nil || t.fold.Tail.Seq == 0 {
		return // it cannot be read, or all entries were removed
	}
	if t.fold.Tail != info.Tail {
		if t.whole || t.fold.Tail.Seq >= info.Tail.Seq {
			t.differs("the summary of thread %q is not at the end of its log", t.name)
		}
		return
	}
	if !t.whole {
		return
	}
	if !lists.Same(info, &t.fold) {
		t.differs("the summary of thread %q is not what its log says", t.name)
	}
}

// checkIDs compares the places of the thread's ids with its log. An id may have left the
// index with a removal.
func (s *Store) checkIDs(ctx context.Context, t *threadCheck) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(t.ids)), maxRows) {
		m, err := s.get(ctx, "check", append([]string{"HMGET", s.prefix + "i"}, textsOf(ids)...)...)
		if err != nil {
			return err
		}
		places, err := m.List()
		if err != nil {
			return s.wrap("check", err)
		}
		for i, id := range ids {
			c := t.ids[id]
			if places[i].IsNil() {
				continue
			}
			have := reply(places).text(i)
			ref, _ := readPlace(have)
			want := place(&posthouse.IndexedID{ID: id, Header: c.header, Order: orderOf(c.header)}, t.name, c.seq)
			if ref.Thread == t.name && have != want {
				t.differs("the index has %q of thread %q with another place or other fields than entry %d", id, t.name, c.seq)
			}
		}
	}
	return nil
}

func textsOf(ids []posthouse.ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}

func orderOf(h *posthouse.Header) (k posthouse.OrderKey) {
	if h != nil {
		k = h.Order
	}
	return k
}

// checkIndex looks for ids that lead nowhere, and for checkpoints that lists do not show.
func (s *Store) checkIndex(ctx context.Context) (found []error, err error) {
	for at := "0"; ; {
		m, err := s.get(ctx, "check", "HSCAN", s.prefix+"i", at, "COUNT", strconv.Itoa(maxRows))
		if err != nil {
			return nil, err
		}
		next, ids, err := m.Scan()
		if err != nil {
			return nil, s.wrap("check", err)
		}
		if err := s.retryUnknown(ctx, "check", func(ctx context.Context) error {
			for i := 0; i+1 < len(ids); i += 2 {
				e, err := s.checkPlace(ctx, ids[i], ids[i+1])
				if err != nil {
					return err
				}
				if e != nil && len(found) < 100 {
					found = append(found, e)
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		at = next
		if at == "0" {
			return found, nil
		}
	}
}

// checkPlace returns what is wrong with an id's place, or nil.
func (s *Store) checkPlace(ctx context.Context, id, at string) (wrong, err error) {
	ref, ok := readPlace(at)
	if !ok {
		return posthouse.Corrupt("the index leads from %q to no place", id), nil
	}
	seq := key64(ref.Seq)
	commands := [][]string{{"HEXISTS", s.prefix + "e:" + ref.Thread, seq}, {"ZSCORE", s.prefix + "names", ref.Thread}}
	if len(at) > 10+len(ref.Thread) {
		lists, order := at[10:len(at)-len(ref.Thread)-16], at[len(at)-len(ref.Thread)-16:len(at)-len(ref.Thread)]
		commands = append(commands,
			[]string{"ZSCORE", s.prefix + "o", order + seq + ref.Thread}, []string{"ZSCORE", s.prefix + "c:" + ref.Thread, seq + order})
		for i := 0; i+8 <= len(lists); i += 8 {
			commands = append(commands, []string{"ZSCORE", s.prefix + "l:" + lists[i:i+8], order + seq + ref.Thread})
		}
	}
	answers, err := s.client.DoAll(ctx, commands)
	if err != nil {
		return nil, err
	}
	for i := range answers {
		m := &answers[i]
		n, _ := m.Int()
		err := m.Err()
		switch {
		case m.IsNil():
			return posthouse.Corrupt("%q of thread %q is not in all its lists", id, ref.Thread), nil
		case err != nil:
			return nil, err
		case i == 0 && n == 0:
			return posthouse.Corrupt("the index leads from %q to entry %d of thread %q, which is not there", id, ref.Seq, ref.Thread), nil
		}
	}
	return nil, nil
}

// checkLists looks for checkpoints in the list of all that the index does not lead to.
func (s *Store) checkLists(ctx context.Context) (found []error, err error) {
	for h, err := range s.List(ctx, posthouse.Query{}) {
		if errors.Is(err, posthouse.ErrCorrupt) {
			return append(found, err), nil
		}
		if err != nil {
			return nil, err
		}
		ref, err := s.Find(ctx, h.ID)
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, err
		}
		if want := (posthouse.Ref{Thread: h.Thread, Seq: h.Seq}); ref != want && len(found) < 100 {
			found = append(found, posthouse.Corrupt("lists have checkpoint %q at entry %d of thread %q, where the index does not lead", h.ID, h.Seq, h.Thread))
		}
	}
	return found, nil
}
