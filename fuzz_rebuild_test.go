package posthouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"
)

// A fakeStore is as much of a store as reading needs: one thread, and whatever
// entries it was given.
type fakeStore struct {
	Store // nil: nothing else is called
	info  *ThreadInfo
	log   []*Entry
}

func (s *fakeStore) Read(_ context.Context, thread string, r Range) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
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

func (s *fakeStore) Find(_ context.Context, id ID) (Ref, error) {
	for i := len(s.log) - 1; i >= 0; i-- {
		hs, err := s.log[i].Checkpoints()
		if err == nil && len(hs) > 0 && hs[0].ID == id {
			return Ref{s.info.Thread, s.log[i].Seq}, nil
		}
	}
	return Ref{}, notFound("checkpoint", id)
}

func (s *fakeStore) Threads(context.Context, ThreadQuery) iter.Seq2[*ThreadInfo, error] {
	info := *s.info
	return func(yield func(*ThreadInfo, error) bool) { yield(&info, nil) }
}

func (s *fakeStore) Append(_ context.Context, b *Batch) error {
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
func (d *dice) part(seq uint64) (c partChange, body []byte) {
	c.name, c.codec, c.op = []string{"a", "b", metaPart}[d.n(3)], "json", byte(d.n(3))
	if seq == 1 && c.op == partSplice {
		c.op = partFull
	}
	c.last, c.full, c.chain, c.dead = d.back(seq), d.back(seq), d.or(d.n(3)), d.or(d.n(9))
	if c.op == partDrop {
		return c, nil
	}
	if c.op == partSplice {
		c.prefix, c.suffix = d.or(d.n(3)), d.or(d.n(2))
	}
	size := c.prefix + c.suffix
	for range 1 + d.n(3) {
		p := piece{n: d.or(d.n(9))}
		if d.n(4) == 0 {
			p.back, p.rec, p.off = d.back(seq), d.or(1), d.or(d.n(4))
		}
		if p.back == 0 {
			p.rec, p.off = 0, 0
			body = append(body, "0123456789"[:min(p.n, 9)]...)
		}
		c.middle = append(c.middle, p)
		size += p.n
	}
	c.size = d.or(min(size, 1<<40))
	return c, body
}

// log makes a thread whose entries are sealed and chained; what their headers
// say of each other fits together most of the time.
func (d *dice) log() *fakeStore {
	s := &fakeStore{info: &ThreadInfo{Thread: "t"}}
	for seq := uint64(1); seq <= uint64(2+d.n(6)); seq++ {
		h := &Header{
			ID: ID(fmt.Sprint("c", seq)), Thread: "t", Branch: []string{MainBranch, "b"}[d.n(2)], Order: OrderKey{byte(seq)},
			Kind: kindCodes[1+d.n(10)], Status: statusCodes[d.n(8)], Size: d.or(d.n(99)),
		}
		list := partList{total: d.or(d.n(4))}
		if seq > 1 {
			h.ParentSeq = seq - 1 - uint64(d.n(2))
			if h.ParentSeq > 0 {
				h.Parent = ID(fmt.Sprint("c", h.ParentSeq))
				list.manifest = uint64(d.n(3)) % seq
			}
		}
		var body []byte
		for range d.n(4) {
			c, b := d.part(seq)
			list.changes, body = append(list.changes, c), append(body, b...)
		}
		for range d.n(3) {
			c, _ := d.part(seq)
			list.unchanged = append(list.unchanged, c.partRef)
		}
		records := []Record{
			{Kind: RecordCheckpoint, Checkpoint: h, parts: list},
			{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "s", Branch: h.Branch, Codec: "json"}},
		}
		e, info := Seal(s.info, time.UnixMilli(1e12), records, [][]byte{body, []byte("a step's result")})
		s.log, s.info = append(s.log, e), info
	}
	return s
}

// FuzzRebuild reads, forks and extends threads whose headers lie: the answer is
// a state or an error, never a panic, an endless walk or gigabytes.
func FuzzRebuild(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 3, 6, 10, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 5, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'})
	f.Add([]byte("a longer seed, so that there are several entries with some parts in each of them, and bodies to go with them; and more of the same"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dice(data)
		s := d.log()
		l, err := Open(s, &Options{MaxState: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		told := func(what string, err error) {
			t.Helper()
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: an error that is none of ours: %v", what, err)
			}
		}
		for _, e := range s.log {
			id := ID(fmt.Sprint("c", e.Seq))
			c, err := l.Get(ctx, id)
			told("Get", err)
			h, err := l.GetHeader(ctx, id)
			told("GetHeader", err)
			if h != nil {
				_, err = l.Execution(ctx, h, "1/n")
				told("Execution", err)
			}
			if c != nil {
				_, err = l.Fork(ctx, id, nil)
				told("Fork", err)
			}
		}
		if tree, err := l.tree(ctx, "t", 0); err == nil {
			tree.needed()
			tree.unneeded()
		} else {
			told("tree", err)
		}
		_, err = l.Commit(ctx, &Draft{Thread: "t", Checkpoint: &Change{Parts: []Part{
			{Name: "a", Splice: true, Prefix: d.or(d.n(9)), Suffix: d.or(d.n(9)), Data: []byte("x")}, {Name: "b", Data: []byte(`"whole"`)},
		}}})
		told("Commit", err)
	})
}
