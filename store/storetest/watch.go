package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

func watchCases() []Case {
	cases := []Case{
		{
			Name: "watch/from the start in commit order",
			Rule: "Watching from \"\" yields all entries that are there, with bodies, each thread's in order of sequence, each with a cursor.",
			Run:  watchStart,
		}, {
			Name: "watch/goes on behind a cursor",
			Rule: "Watching from an entry's cursor yields what was appended after it, each entry once, nothing left out.",
			Run:  watchResume,
		}, {
			Name: "watch/now is the tail",
			Rule: "Watching from \"now\" yields nothing that was there before.",
			Run:  watchNow,
		}, {
			Name: "watch/blocks and wakes",
			Rule: "At the tail a watcher blocks; each append wakes every watcher, and none of them misses or repeats one.",
			Run:  watchWakes,
		}, {
			Name: "watch/racing appends are all seen in each thread's order",
			Rule: "Whatever commits at once, a watcher sees every entry exactly once, each thread's in order of sequence.",
			Run:  watchRace,
		}, {
			Name: "watch/ends with its context",
			Rule: "A watcher that blocks ends when its context does, with no more than that error.",
			Run:  watchEnds,
		}, {
			Name: "watch/ends when the store closes",
			Rule: "Closing the store ends watchers that block, with ErrClosed.",
			Run:  watchClose,
		}, {
			Name: "watch/passes over what was removed",
			Rule: "Entries that were removed are not yielded; a cursor of one is still good.",
			Run:  watchRemoved,
		}, {
			Name: "watch/a cursor from elsewhere is refused",
			Rule: "A cursor this store did not give out is ErrInvalid.",
			Run:  watchBadCursor,
		},
	}
	for i := range cases {
		cases[i].Needs = NeedWatcher
	}
	return cases
}

func (t *T) watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	return t.Store.(posthouse.Watcher).Watch(ctx, cursor)
}

// watched reads the next n entries after a cursor.
func (t *T) watched(cursor string, n int) (es []*posthouse.Entry) {
	t.Helper()
	for e, err := range t.watch(t.ctx, cursor) {
		t.OK(err)
		es = append(es, e)
		if len(es) == n {
			break
		}
	}
	for _, e := range es {
		if e.Cursor == "" || strings.ContainsFunc(e.Cursor, func(r rune) bool { return r <= ' ' || r >= '~' }) {
			t.Errorf("entry %d of thread %q has the cursor %q, want printable ASCII without spaces and ~", e.Seq, e.Thread, e.Cursor)
		}
	}
	return es
}

// mixed appends n entries in turn to several threads.
func (t *T) mixed(n int) (es []*posthouse.Entry) {
	t.Helper()
	logs := []*Log{t.Builder.Log("a"), t.Builder.Log("b"), t.Builder.Log("c")}
	for i := range n {
		l := logs[(i+i/2)%len(logs)]
		es = append(es, t.mustAppend(l, l.Checkpoint(posthouse.Header{}, fmt.Sprint("state ", i)), l.Step("none", nil)))
	}
	return es
}

func watchStart(t *T) {
	es := t.mixed(20)
	t.WantEntries("Watch", t.watched("", 20), es)
}

func watchResume(t *T) {
	es := t.mixed(600)
	var got []*posthouse.Entry
	for cursor := ""; len(got) < len(es); cursor = got[len(got)-1].Cursor {
		got = append(got, t.watched(cursor, min(len(es)-len(got), 1+len(got)))...)
	}
	t.WantEntries("Watch", got, es)
}

func watchNow(t *T) {
	l, _ := t.log("t1", 3)
	seen := make(chan uint64, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	seq := t.watch(ctx, "now")
	wg.Go(func() {
		for e, err := range seq {
			if err != nil {
				t.Errorf("Watch: %v", err)
			} else {
				seen <- e.Seq
			}
			return
		}
	})
	for { // the watcher may not have begun yet
		select {
		case got := <-seen:
			if got <= 3 {
				t.Errorf("the first entry seen is %d, which was there before", got)
			}
			return
		case <-t.ctx.Done():
			t.Fatal("the watcher sees nothing")
		default:
			t.mustAppend(l, l.Step("s", []byte("new")))
		}
	}
}

func watchWakes(t *T) {
	const watchers, n = 4, 30
	var seen [watchers]chan *posthouse.Entry
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.ctx)
	for i := range seen {
		seen[i] = make(chan *posthouse.Entry)
		wg.Go(func() {
			defer close(seen[i])
			for e, err := range t.watch(ctx, "") {
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("Watch: %v", err)
					}
					return
				}
				select {
				case seen[i] <- e:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer wg.Wait()
	defer cancel()
	l := t.Builder.Log("t1")
	for range n {
		want := t.mustAppend(l, l.Step("s", []byte("x")))
		for i := range seen {
			select {
			case got := <-seen[i]:
				if got == nil {
					t.Fatalf("watcher %d ended before entry %d", i, want.Seq)
				}
				t.WantEntries(fmt.Sprint("watcher ", i), []*posthouse.Entry{got}, []*posthouse.Entry{want})
			case <-ctx.Done():
				t.Fatalf("watcher %d does not see entry %d", i, want.Seq)
			}
		}
	}
}

func watchRace(t *T) {
	const threads, each = 8, 40
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			l := t.Builder.Log(fmt.Sprint("t", i))
			for range each {
				b := l.Next(l.Step("s", []byte("x")))
				if err := t.Store.Append(t.ctx, b); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				l.Took(b)
			}
		})
	}
	last := map[string]uint64{}
	for _, e := range t.watched("", threads*each) {
		if last[e.Thread]++; e.Seq != last[e.Thread] {
			t.Errorf("thread %q: saw entry %d, want %d", e.Thread, e.Seq, last[e.Thread])
		}
	}
	wg.Wait()
}

func watchEnds(t *T) {
	t.log("t1", 2)
	ctx, cancel := context.WithCancel(t.ctx)
	n := 0
	for e, err := range t.watch(ctx, "") {
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			t.Errorf("Watch: %v", err)
		case err == nil:
			if n++; e.Seq == 2 {
				cancel()
			}
		}
	}
	if n != 2 {
		t.Errorf("saw %d entries, want 2", n)
	}
	cancel()
	for e, err := range t.watch(ctx, "") {
		if err == nil {
			t.Errorf("a watch with an ended context yields entry %d", e.Seq)
		}
	}
}

func watchClose(t *T) {
	s := t.Fresh()
	l := t.Builder.Log("t1")
	t.OK(s.Append(t.ctx, l.Next(l.Step("s", []byte("x")))))
	blocked := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var last error
		for _, err := range s.(posthouse.Watcher).Watch(t.ctx, "") {
			last = err
			if err == nil {
				close(blocked) // about to
			}
		}
		t.WantCode("the watcher's end", last, posthouse.CodeClosed)
	})
	select {
	case <-blocked:
	case <-t.ctx.Done():
		t.Fatal("the watcher sees nothing")
	}
	t.OK(s.Close())
	wg.Wait()
}

func watchRemoved(t *T) {
	es := t.mixed(30)
	cursor := t.watched("", 10)[9].Cursor
	ref := posthouse.BodyRef{Seq: 1}
	t.remove(posthouse.Removal{Thread: "a", All: true})
	t.remove(posthouse.Removal{Thread: "b", Bodies: []posthouse.BodyRef{ref}})
	var want, rest []*posthouse.Entry
	for i, e := range es {
		if e.Thread == "b" {
			e = without([]*posthouse.Entry{e}, ref)[0]
		}
		if e.Thread != "a" {
			want = append(want, e)
			if i >= 10 {
				rest = append(rest, e)
			}
		}
	}
	t.WantEntries("from the start", t.watched("", len(want)), want)
	t.WantEntries("behind the cursor", t.watched(cursor, len(rest)), rest)
}

func watchBadCursor(t *T) {
	t.log("t1", 2)
	for _, cursor := range []string{"x", "-", "0x1", "now ", "' OR 1=1 --"} {
		for e, err := range t.watch(t.ctx, cursor) {
			if t.WantCode(fmt.Sprintf("cursor %q", cursor), err, posthouse.CodeInvalid); err == nil {
				t.Errorf("cursor %q yields entry %d", cursor, e.Seq)
				break
			}
		}
	}
}
