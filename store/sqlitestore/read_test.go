package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestReadsFailAtEveryStatement fails each statement of each kind of read in
// turn: the read says so, never gives a shorter answer, and the store goes on.
func TestReadsFailAtEveryStatement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	sample(t, path)
	s := open(t, path, nil)
	l := newLine("crew", idSource()) // a coordination's own thread
	fill(t, s, l, 40, 50)
	late := l.node([]byte("x"))
	commit(t, s, late)
	disorder(t, s)

	reads := everyRead(s, l.head.ID, l.head.Cursor())
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			want, err := read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n < 500; n++ {
				if err := s.Forget(t.Context()); err != nil {
					t.Fatal(err)
				}
				var asked atomic.Int64 // a check reads threads at once
				s.FailRead(t, func(string) error {
					if asked.Add(1) == int64(n) {
						return sqlite.ResultIOErrRead.ToError()
					}
					return nil
				})
				got, err := read(t.Context())
				s.FailRead(t, nil)
				if count := int(asked.Load()); count < n {
					if err != nil || got != want {
						t.Fatalf("%d statements: %v\n%s\nwant\n%s", count, err, got, want)
					}
					return
				}
				if err == nil && got == want && name == "watch" {
					continue // all that was asked for came before
				}
				if err == nil || !errors.Is(err, posthouse.ErrReadOnly) {
					t.Fatalf("statement %d: %v", n, err)
				}
			}
		})
	}
	for name, read := range reads { // a context that has ended
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
}

// everyRead returns each kind of read that a store has, of the sample and after a
// cursor. Each prints what it read.
func everyRead(s *sqlitestore.Store, own posthouse.ID, cursor string) map[string]func(context.Context) (string, error) {
	return map[string]func(ctx context.Context) (string, error){
		"read": func(ctx context.Context) (string, error) { return all(s.Read(ctx, "alpha", posthouse.Range{})) },
		"reverse": func(ctx context.Context) (string, error) {
			return all(s.Read(ctx, "alpha", posthouse.Range{Reverse: true}))
		},
		"headers": func(ctx context.Context) (string, error) {
			return all(s.Read(ctx, "alpha", posthouse.Range{Headers: true}))
		},
		"back": func(ctx context.Context) (string, error) {
			return all(s.Read(ctx, "alpha", posthouse.Range{Headers: true, Reverse: true}))
		},
		"some": func(ctx context.Context) (string, error) {
			return all(s.Read(ctx, "alpha", posthouse.Range{Seqs: []uint64{3, 1, 99}}))
		},
		"heads": func(ctx context.Context) (string, error) {
			return all(s.Read(ctx, "alpha", posthouse.Range{Seqs: []uint64{3, 1 << 63}, Headers: true}))
		},
		"find": func(ctx context.Context) (string, error) {
			r, err := s.Find(ctx, "foreign-1")
			return fmt.Sprint(r), err
		},
		"find own": func(ctx context.Context) (string, error) { r, err := s.Find(ctx, own); return fmt.Sprint(r), err },
		"list":     func(ctx context.Context) (string, error) { return all(s.List(ctx, posthouse.Query{})) },
		"thread":   func(ctx context.Context) (string, error) { return all(s.List(ctx, posthouse.Query{Thread: "beta"})) },
		"crew": func(ctx context.Context) (string, error) {
			return all(s.List(ctx, posthouse.Query{Coordination: "crew", Descending: true}))
		},
		"crew on": func(ctx context.Context) (string, error) {
			return all(s.List(ctx, posthouse.Query{Coordination: "crew", After: cursor, Descending: true}))
		},
		"disorder": func(ctx context.Context) (string, error) {
			return all(s.List(ctx, posthouse.Query{Coordination: "disorder"}))
		},
		"threads": func(ctx context.Context) (string, error) { return all(s.Threads(ctx, posthouse.ThreadQuery{})) },
		"waiting": func(ctx context.Context) (string, error) {
			return all(s.Threads(ctx, posthouse.ThreadQuery{Waiting: true}))
		},
		"named": func(ctx context.Context) (string, error) {
			return all(s.Threads(ctx, posthouse.ThreadQuery{Thread: "beta"}))
		},
		"slot": func(ctx context.Context) (string, error) {
			v, err := s.Slot(ctx, posthouse.SlotKey{Thread: "alpha", Step: "s"}, posthouse.SlotOp{})
			return fmt.Sprint(v), err
		},
		"watch": func(ctx context.Context) (string, error) {
			var b strings.Builder
			n := 0
			for e, err := range s.Watch(ctx, "") {
				if err != nil {
					return b.String(), err
				}
				fmt.Fprintf(&b, "%+v\n", e)
				if n++; n == 12 { // there are more, so it does not wait
					break
				}
			}
			return b.String(), nil
		},
		"check": func(ctx context.Context) (string, error) {
			for err := range s.Check(ctx) {
				return "", err
			}
			return "", nil
		},
	}
}

// all prints what an iterator yields.
func all[T any](seq func(func(T, error) bool)) (string, error) {
	var b strings.Builder
	for v, err := range seq {
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "%+v\n", v)
	}
	return b.String(), nil
}

// disorder makes a thread with order keys that do not ascend with its log.
func disorder(t testing.TB, s posthouse.Store) (want []posthouse.ID) {
	t.Helper()
	ids := idSource()
	made := make([]posthouse.ID, 30)
	for i := range made {
		made[i] = "019b0000" + ids()[8:]
	}
	slices.Sort(made)
	order := slices.Clone(made)
	slices.Reverse(order)
	l := newLine("disorder", func() posthouse.ID {
		id := order[0]
		order = order[1:]
		return id
	})
	for range made {
		commit(t, s, l.node([]byte("x")))
	}
	return made
}

// TestListInDisorder lists by order key what was not appended in that order,
// whole, page by page, both ways, by its own coordination and among others.
func TestListInDisorder(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	want := disorder(t, s)
	for _, q := range []posthouse.Query{{}, {Coordination: "disorder"}} {
		for _, down := range []bool{false, true} {
			q.Descending, q.Limit = down, 7
			var got []posthouse.ID
			for q.After = ""; ; {
				n := 0
				for h, err := range s.List(t.Context(), q) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, h.ID)
					q.After = h.Cursor()
					n++
				}
				if n == 0 {
					break
				}
			}
			expect := slices.Clone(want)
			if down {
				slices.Reverse(expect)
			}
			if !slices.Equal(got, expect) {
				t.Errorf("%+v: %v\nwant %v", q, got, expect)
			}
		}
	}
	for _, err := range s.List(t.Context(), posthouse.Query{After: "x"}) {
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("a bad cursor: %v", err)
		}
	}
	far := strings.Repeat("0", 32) + "-18446744073709551615"
	for _, err := range s.List(t.Context(), posthouse.Query{After: far}) {
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("a cursor out of range: %v", err)
		}
	}
	for _, err := range s.Threads(t.Context(), posthouse.ThreadQuery{After: "a", DueBefore: 1}) {
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("a cursor by due time: %v", err)
		}
	}
}

// TestOddIDs has version 7 UUIDs that are not their own order key: they are in
// another table, and still unique.
func TestOddIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	ids := idSource()
	a, b := newLine("a", ids), newLine("b", ids)
	fill(t, s, a, 1, 100)
	own := a.head.ID
	odd := ids()
	commit(t, s, b.foreign(odd, ""))
	for i := range 2 {
		if err := s.Append(t.Context(), newLine("c", func() posthouse.ID { return odd }).node(nil)); !errors.Is(err, posthouse.ErrExists) {
			t.Errorf("round %d: an id that is in the other table: %v", i, err)
		}
		again := *b
		if err := s.Append(t.Context(), again.foreign(own, "")); !errors.Is(err, posthouse.ErrExists) {
			t.Errorf("round %d: an id that is in a row: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path, nil)
	}
	for id, thread := range map[posthouse.ID]string{own: "a", odd: "b"} {
		if r, err := s.Find(t.Context(), id); err != nil || r.Thread != thread {
			t.Errorf("%s: %+v %v", id, r, err)
		}
	}
	noDifference(t, s)
}

// TestWaitsAndLists reads within a reader's loop: with one connection.
func TestReadWithinARead(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), &sqlitestore.Options{Readers: 1})
	fill(t, s, newLine("t", idSource()), 30, 100)
	n := 0
	for h, err := range s.List(t.Context(), posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		for range s.Read(t.Context(), "t", posthouse.Range{Limit: 1}) {
			n++
			break
		}
	}
	if n != 30 {
		t.Errorf("%d", n)
	}
}

func TestRefusedBatches(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	good := func() *posthouse.Batch { return newLine("t", idSource()).node([]byte("x")) }
	for name, spoil := range map[string]func(*posthouse.Batch){
		"no entry":      func(b *posthouse.Batch) { b.Entry = nil },
		"no summary":    func(b *posthouse.Batch) { b.Thread = nil },
		"other thread":  func(b *posthouse.Batch) { b.Thread.Thread = "u" },
		"wrong seq":     func(b *posthouse.Batch) { b.Entry.Seq = 5 },
		"wrong summary": func(b *posthouse.Batch) { b.Thread.Tail.Seq = 9 },
	} {
		b := good()
		spoil(b)
		if err := s.Append(t.Context(), b); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, key := range []posthouse.SlotKey{{}, {Thread: "t"}, {Step: "entries"}} {
		if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("slot %+v: %v", key, err)
		}
	}
	if _, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{Verb: 9}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("verb 9: %v", err)
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{All: true}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a removal from no thread: %v", err)
	}
}

func FuzzReadHead(f *testing.F) {
	l := newLine("t", idSource())
	for range 3 {
		f.Add(sqlitestore.AppendHead(nil, l.node([]byte("x")).Entry, true))
	}
	signed := l.node(nil).Entry
	signed.Sig = []byte("signature")
	f.Add(sqlitestore.AppendHead(nil, signed, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again posthouse.Entry
		if err := sqlitestore.ReadHead(&e, b); err != nil {
			if !errors.Is(err, posthouse.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if err := sqlitestore.ReadHead(&again, sqlitestore.AppendHead(nil, &e, len(b)%2 == 0)); err != nil {
			t.Fatal(err)
		}
		if e.Generation != again.Generation || e.Prev != again.Prev || e.Hash != again.Hash ||
			string(e.Sig) != string(again.Sig) || string(e.Header) != string(again.Header) {
			t.Errorf("%+v\n%+v", e, again)
		}
	})
}

// TestReadsYieldWhatIsBeforeDamage: an entry with a damaged head or pack ends a
// list or a watch, after all entries before it.
func TestReadsYieldWhatIsBeforeDamage(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.db")
	s, ids := open(t, base, nil), idSource()
	a, b := newLine("alpha", ids), newLine("beta", ids)
	fill(t, s, a, 3, 300)
	fill(t, s, b, 4, 300)
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, s, a, 3, 300)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		damage string
		want   map[string]int // how many items come before the error
	}{
		{"UPDATE entries SET head = x'09' WHERE thread = 2 AND seq = 3",
			map[string]int{"watch": 5, "read": 2, "all": 5, "thread": 2, "own": 2, "back": 4}},
		{"UPDATE packs SET data = x'00' WHERE id = (SELECT pack / 256 FROM entries WHERE thread = 2 AND seq = 3)",
			map[string]int{"watch": 3, "read": 0}},
	} {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		if err := os.WriteFile(path, contents(t, base), 0o600); err != nil {
			t.Fatal(err)
		}
		inspect(t, path, func(db *sqlite.Conn) { script(t, db, c.damage) })
		s := open(t, path, nil)
		reads := map[string]func() (string, error){
			"watch":  func() (string, error) { return all(s.Watch(t.Context(), "")) },
			"read":   func() (string, error) { return all(s.Read(t.Context(), "beta", posthouse.Range{})) },
			"all":    func() (string, error) { return all(s.List(t.Context(), posthouse.Query{})) },
			"thread": func() (string, error) { return all(s.List(t.Context(), posthouse.Query{Thread: "beta"})) },
			"own":    func() (string, error) { return all(s.List(t.Context(), posthouse.Query{Coordination: "beta"})) },
			"back":   func() (string, error) { return all(s.List(t.Context(), posthouse.Query{Descending: true})) },
		}
		for name, want := range c.want {
			got, err := reads[name]()
			if n := strings.Count(got, "\n"); n != want || !errors.Is(err, posthouse.ErrCorrupt) {
				t.Errorf("%s: %s yields %d items, then %v; want %d, then damage", c.damage, name, n, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
