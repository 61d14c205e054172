package s3store

import (
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/replay"
)

// A view is what a process knows of the commits: applied in their order, they give every process
// the same index. The index's lock guards all of it.
type view struct {
	index    *memindex.Index
	headers  posthouse.HeaderReader
	at       uint64     // the newest commit in the index
	id       token      // of it
	awaited  commitHead // the commit that is being written here
	mine     bool       // it is in the index
	foreign  time.Time  // when another process's commit was last seen
	recent   [][]byte   // the newest commits without bodies, of a span that has no manifest yet
	ready    []manifest // to be written
	loading  bool
	gone     map[uint64]bodies.Gone     // removed bodies, by the entry's number
	dirty    map[string]map[uint64]bool // by thread: commits that may have what was removed
	partial  map[string]bool            // threads that lost older entries, until their removal is met
	removals int
	damage   error
}

func newView() view {
	return view{
		index: memindex.New(), loading: true,
		gone: map[uint64]bodies.Gone{}, dirty: map[string]map[uint64]bool{}, partial: map[string]bool{},
	}
}

// isPartial reports whether a thread lacks entries while the index does not have their
// removal yet.
func (v *view) isPartial() bool {
	v.index.RLock()
	defer v.index.RUnlock()
	return len(v.partial) > 0
}

// fail remembers damage: what the index has may not be whole.
func (v *view) fail(err error) error {
	if !errors.Is(err, posthouse.ErrCorrupt) {
		return err
	}
	v.index.Lock()
	defer v.index.Unlock()
	if v.damage == nil {
		v.damage = err
	}
	return err
}

// apply indexes one commit. Callers hold the lock.
func (v *view) apply(c *commit) error {
	if c.before != v.id || c.number != v.at+1 {
		return fmt.Errorf("commit %d does not follow commit %d", c.number, v.at)
	}
	for i := range c.pieces {
		p := &c.pieces[i]
		var err error
		switch kind := p.KindOf(); kind {
		case framelog.KindEntry:
			err = v.applyEntry(c, p)
		case kindRemoval:
			var m removal
			err = m.read(p.Head)
			if err == nil {
				err = v.applyRemoval(&m)
			}
		case kindGone:
			var g gone
			err = g.read(p.Head)
			if err == nil {
				v.index.Forget(g.thread, g.ids)
			}
		default:
			err = fmt.Errorf("a frame of kind %d is in it", kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) applyEntry(c *commit, p *piece) error {
	var e framelog.Entry
	if err := e.Read(p.Head); err != nil {
		return err
	}
	if e.Commit/perCommit != c.number || e.Commit <= v.index.Last() {
		return fmt.Errorf("it has entry %d of thread %q from elsewhere", e.Entry.Seq, e.Entry.Thread)
	}
	thread := e.Entry.Thread
	info := &posthouse.ThreadInfo{}
	if have := v.index.Info(thread); have != nil {
		*info = *have
	}
	if v.partial[thread] || e.After != info.Tail.Seq && len(e.Summary) == 0 {
		if e.After < info.Tail.Seq {
			return fmt.Errorf("entry %d of thread %q is there twice", e.Entry.Seq, thread)
		}
		v.partial[thread] = true // what came before was removed, which a later commit says
		info = nil
	} else if err := replay.Follow(info, &e); err != nil {
		return err
	}
	return replay.Add(v.index, &v.headers, &e, p.place(), info)
}
