package retain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A fakeStore is as much of a store as reading needs: one thread, and whatever
// entries it was given.
type fakeStore struct {
	posthouse.Store // nil: nothing else is called
	info            *posthouse.ThreadInfo
	log             []*posthouse.Entry
}

func (s *fakeStore) Read(_ context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, e := range s.log {
			in := e.Seq >= r.From && (r.To == 0 || e.Seq <= r.To)
			if r.Seqs != nil {
				in = false
				for _, seq := range r.Seqs {
					in = in || seq == e.Seq
				}
			}
			c := *e
			if in && thread == s.info.Thread && !yield(&c, nil) {
				return
			}
		}
	}
}

func (s *fakeStore) Find(_ context.Context, id posthouse.ID) (posthouse.Ref, error) {
	for i := len(s.log) - 1; i >= 0; i-- {
		hs, err := s.log[i].Checkpoints()
		if err == nil && len(hs) > 0 && hs[0].ID == id {
			return posthouse.Ref{Thread: s.info.Thread, Seq: s.log[i].Seq}, nil
		}
	}
	return posthouse.Ref{}, posthouse.NotFound("checkpoint", id)
}

func (s *fakeStore) Threads(context.Context, posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	info := *s.info
	return func(yield func(*posthouse.ThreadInfo, error) bool) { yield(&info, nil) }
}

func (s *fakeStore) Append(_ context.Context, b *posthouse.Batch) error {
	s.log, s.info = append(s.log, b.Entry), b.Thread
	return nil
}

// A dice makes choices from a fuzzer's bytes.
type dice []byte

func (d *dice) n(limit int) int {
	if len(*d) == 0 {
		return 0
	}
	c := int((*d)[0])
	*d = (*d)[1:]
	return c % limit
}

// or returns v, and now and then something hostile.
func (d *dice) or(v int) int {
	switch d.n(32) {
	case 31:
		return 1 << 40
	case 30:
		return v + 1
	default:
		return v
	}
}

// back is a distance that stays in the log.
func (d *dice) back(seq uint64) uint64 {
	if seq == 1 {
		return 0
	}
	return uint64(d.or(1 + d.n(int(seq)-1)))
}

// part makes a change and the bytes that its pieces take from the body. Most
// of it fits together.
func (d *dice) part(seq uint64) (c posthouse.PartChange, body []byte) {
	c.Name, c.Codec, c.Op = []string{"a", "b", posthouse.MetaPart}[d.n(3)], "json", byte(d.n(3))
	if seq == 1 && c.Op == posthouse.PartSplice {
		c.Op = posthouse.PartFull
	}
	c.Last, c.Full, c.Chain, c.Dead = d.back(seq), d.back(seq), d.or(d.n(3)), d.or(d.n(9))
	if c.Op == posthouse.PartDrop {
		return c, nil
	}
	if c.Op == posthouse.PartSplice {
		c.Prefix, c.Suffix = d.or(d.n(3)), d.or(d.n(2))
	}
	size := c.Prefix + c.Suffix
	for range 1 + d.n(3) {
		p := posthouse.Piece{N: d.or(d.n(9))}
		if d.n(4) == 0 {
			p.Back, p.Rec, p.Off = d.back(seq), d.or(1), d.or(d.n(4))
		}
		if p.Back == 0 {
			p.Rec, p.Off = 0, 0
			body = append(body, "0123456789"[:min(p.N, 9)]...)
		}
		c.Middle = append(c.Middle, p)
		size += p.N
	}
	c.Size = d.or(min(size, 1<<40))
	return c, body
}

// log makes a thread with sealed and chained entries; their headers fit together
// most of the time.
func (d *dice) log() *fakeStore {
	kinds := []string{posthouse.KindSave, posthouse.KindNode, posthouse.KindWait, posthouse.KindFail, posthouse.KindFork, posthouse.KindInput, posthouse.KindUpdate, posthouse.KindEvent, posthouse.KindInner, posthouse.KindCancel}
	statuses := []posthouse.Status{"", posthouse.StatusReady, posthouse.StatusRunning, posthouse.StatusWaiting, posthouse.StatusInterrupted, posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled}
	s := &fakeStore{info: &posthouse.ThreadInfo{Thread: "t"}}
	for seq := uint64(1); seq <= uint64(2+d.n(6)); seq++ {
		h := &posthouse.Header{
			ID: posthouse.ID(fmt.Sprint("c", seq)), Thread: "t", Branch: []string{posthouse.MainBranch, "b"}[d.n(2)], Order: posthouse.OrderKey{byte(seq)},
			Kind: kinds[d.n(len(kinds))], Status: statuses[d.n(len(statuses))], Size: d.or(d.n(99)),
		}
		list := posthouse.PartList{Total: d.or(d.n(4))}
		if seq > 1 {
			h.ParentSeq = seq - 1 - uint64(d.n(2))
			if h.ParentSeq > 0 {
				h.Parent = posthouse.ID(fmt.Sprint("c", h.ParentSeq))
				list.Manifest = uint64(d.n(3)) % seq
			}
		}
		var body []byte
		for range d.n(4) {
			c, b := d.part(seq)
			list.Changes, body = append(list.Changes, c), append(body, b...)
		}
		for range d.n(3) {
			c, _ := d.part(seq)
			list.Unchanged = append(list.Unchanged, c.PartRef)
		}
		records := []posthouse.Record{
			{Kind: posthouse.RecordCheckpoint, Checkpoint: h, Parts: list},
			{Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{Task: "1/n", Name: "s", Branch: h.Branch, Codec: "json"}},
		}
		e, info := posthouse.Seal(s.info, time.UnixMilli(1e12), records, [][]byte{body, []byte("a step's result")})
		s.log, s.info = append(s.log, e), info
	}
	return s
}

// FuzzRebuild reads, forks and extends threads with false headers: the answer is
// a state or an error, never a panic, an endless walk or gigabytes.
func FuzzRebuild(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 3, 6, 10, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 5, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'})
	f.Add([]byte("a longer seed, so that there are several entries with some parts in each of them, and bodies to go with them; and more of the same"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dice(data)
		s := d.log()
		l, err := ledger.Open(s, &ledger.Options{MaxState: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		told := func(what string, err error) {
			t.Helper()
			var e *posthouse.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: an error that is none of ours: %v", what, err)
			}
		}
		for _, e := range s.log {
			id := posthouse.ID(fmt.Sprint("c", e.Seq))
			c, err := l.Get(ctx, id)
			told("Get", err)
			h, err := l.GetHeader(ctx, id)
			told("GetHeader", err)
			if h != nil {
				_, err = l.Core().Executions(ctx, h)
				told("Executions", err)
			}
			if c != nil {
				_, err = l.Fork(ctx, id, nil)
				told("Fork", err)
			}
		}
		if tree, err := l.Core().Logs.Tree(ctx, "t", 0); err == nil {
			tree.Needed()
			unneeded(tree)
		} else {
			told("tree", err)
		}
		_, err = l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Parts: []posthouse.Part{
			{Name: "a", Splice: true, Prefix: d.or(d.n(9)), Suffix: d.or(d.n(9)), Data: []byte("x")}, {Name: "b", Data: []byte(`"whole"`)},
		}}})
		told("Commit", err)
	})
}
