package inbox

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Bounds of the search for duplicates in other threads.
const (
	maxRelatives    = 8     // threads that are looked at
	maxRelativeLook = 2_000 // entries of each of them
	maxWays         = 12    // ways of a thread by which forks and copies of it are looked for
	maxWayLook      = 1_000 // checkpoints on a way that are looked at for that
)

// A family is a gate's thread with those that were forked or copied from it, or it from them.
type family struct {
	ctx   context.Context
	l     *ledger.Ledger
	gate  *posthouse.Gate
	seen  map[string]bool // threads
	queue []relative
	ways  []way // by which forks and copies are looked for
	forks newest
	found []posthouse.ID
}

// A relative is a thread, and the newest of its checkpoints that led to the gate; nil: no checkpoint did.
type relative struct {
	thread string
	at     *posthouse.Header
}

// others visits the other threads: first where the gate's came from, then what was made of them.
func (f *family) others() error {
	for way, looked := 0, 0; looked < maxRelatives; {
		if len(f.queue) == 0 {
			if way == len(f.ways) || way == 2*maxWays {
				return nil
			}
			if err := f.children(f.ways[way]); err != nil {
				return err
			}
			way++
			continue
		}
		next := f.queue[0]
		f.queue = f.queue[1:]
		looked++
		if err := f.visit(next); err != nil {
			return err
		}
	}
	return nil
}

// visit looks for questions of a thread, for its source, and for the ways to what was made of it.
func (f *family) visit(r relative) error {
	f.seen[r.thread] = true
	info, err := f.l.Thread(f.ctx, r.thread)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s := &duplicateSearch{gate: f.gate, own: r.thread == f.gate.Thread, line: map[string]uint64{}, decided: map[posthouse.ID]decidedAt{}}
	look := maxRelativeLook
	if s.own {
		s.line[f.gate.Branch] = f.gate.Seq
		look = maxAloneLook
		if len(info.Branches) > 1 {
			look = maxDuplicateLook
		}
	}
	if r.at != nil {
		s.next = r.at.Seq
	}
	for e, err := range f.l.Log(f.ctx, r.thread, posthouse.Range{From: info.First, Reverse: true, Headers: true, Limit: look}) {
		if unread(err) || gone(err) {
			break // what is newer counts all the same
		}
		if err != nil {
			return err
		}
		s.entry(e)
	}
	f.found = append(f.found, s.result()...)
	for _, w := range s.ways {
		if !slices.Contains(f.ways, w) {
			f.ways = append(f.ways, w)
		}
	}
	f.add(f.forks.of[r.thread])
	return f.parent(s.source)
}

// add has threads visited.
func (f *family) add(threads []string) {
	for _, name := range threads {
		if !f.seen[name] {
			f.seen[name] = true
			f.queue = append(f.queue, relative{thread: name})
		}
	}
}

// parent has the thread that a fork or a copy was made from visited.
func (f *family) parent(source *posthouse.Source) error {
	if source == nil || f.seen[source.Thread] {
		return nil
	}
	h, err := f.l.GetHeader(f.ctx, source.ID)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.seen[source.Thread] = true
	f.queue = append(f.queue, relative{thread: source.Thread, at: h})
	return nil
}

// children has the threads visited that a way leads to, and that were made of one that is known.
func (f *family) children(w way) error {
	if w == (way{}) {
		return f.newestForks()
	}
	for h, err := range f.l.List(f.ctx, w.query()) {
		if err != nil {
			return err
		}
		if h.Source != nil && f.seen[h.Source.Thread] {
			f.add([]string{h.Thread})
		}
	}
	return nil
}
