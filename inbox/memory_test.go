package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// said is what a walk says of questions.
func said(t *testing.T, l *ledger.Ledger, m *inbox.Memory, q inbox.Query) (lines []string) {
	t.Helper()
	w := inbox.Walk{Most: 10_000, Memory: m}
	each := func(item *inbox.Item) bool {
		line := fmt.Sprint(item.Gate.ID, item.Gate.Thread, item.Gate.Name, item.Gate.Assignees, len(item.Gate.Votes), inbox.StateOf(item.Gate), item.Err)
		if d := item.Gate.Decision; d != nil {
			line += fmt.Sprint(d.Verdict, d.By, d.At)
		}
		lines = append(lines, line)
		return true
	}
	must.Do(t, w.Read(t.Context(), l, q, each))
	must.Do(t, w.Settled(t.Context(), l, q, each))
	return append(lines, fmt.Sprint(w.Looked, w.More))
}

func wantSaid(t *testing.T, what string, got, want []string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s, a walk says\n%s\nwithout a memory\n%s", what, g, w)
	}
}

// TestAMemoryIsBounded: a memory has no more than it has room for, however many threads there are and whatever names they
// give it to keep; walks say the same; and when it is full of threads that have moved since, it forgets those.
func TestAMemoryIsBounded(t *testing.T) {
	const most = 200_000
	d := open(t)
	var asked []posthouse.ID
	for i := range 60 {
		var people []string
		for j := range 20 * (i % 4) {
			people = append(people, fmt.Sprint(strings.Repeat("p", 150), j))
		}
		asked = append(asked, d.ask(fmt.Sprint("t", i), "shop", posthouse.Gate{Name: "refund", Assignees: people, Payload: fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 20_000))}))
		if i%3 == 0 {
			must.Get(d.Withdraw(t.Context(), asked[i], ledger.Withdrawal{By: "ops", Operator: true}))(t)
		}
	}
	m, small := inbox.NewMemory(most), inbox.NewMemory(5000)
	for round := range 8 {
		d.now = d.now.Add(time.Minute)
		for _, id := range asked[:20] {
			d.ask(fmt.Sprint("more-", round, id), "shop", posthouse.Gate{Name: "ship"})
			g := must.Get(d.Gate(t.Context(), id))(t)
			must.Get(d.Commit(t.Context(), &ledger.Draft{Thread: g.Thread, Branch: g.Branch, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "again"}}}))(t)
		}
		want := said(t, d.Ledger, nil, inbox.Query{})
		for _, m := range []*inbox.Memory{m, small} {
			wantSaid(t, fmt.Sprint("round ", round), said(t, d.Ledger, m, inbox.Query{}), want)
		}
		if threads, size := m.Size(); size > most || threads == 0 {
			t.Fatalf("round %d: the memory has %d threads and %d bytes, and room for %d", round, threads, size, most)
		}
		if _, size := small.Size(); size > 5000 {
			t.Fatalf("round %d: the small memory has %d bytes", round, size)
		}
	}
}

// TestAMemoryCountsIDs: the ids that others gave count, which may be long.
func TestAMemoryCountsIDs(t *testing.T) {
	sizes := map[int]int{}
	for _, length := range []int{1, 200} {
		d := open(t)
		id := posthouse.ID(strings.Repeat("g", length))
		d.ask("t", "shop", posthouse.Gate{ID: id, Name: "refund", Assignees: []string{"bob"}})
		must.Get(d.Delegate(t.Context(), id, posthouse.Delegation{By: "bob", To: "alice"}))(t)
		m := inbox.NewMemory(0)
		said(t, d.Ledger, m, inbox.Query{})
		_, sizes[length] = m.Size()
	}
	if more := sizes[200] - sizes[1]; more < 2*199 {
		t.Errorf("a gate takes %d bytes more where its id has 199 more, and its delegation names it, too", more)
	}
}

// TestAMemoryForgetsWhatMoved: a full memory makes room by what walks no longer come by.
func TestAMemoryForgetsWhatMoved(t *testing.T) {
	d := open(t)
	m := inbox.NewMemory(8000)
	var last int
	for round := range 40 {
		for i := range 20 {
			must.Get(d.Commit(t.Context(), &ledger.Draft{Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone, Node: fmt.Sprint("n", round)}}))(t)
		}
		said(t, d.Ledger, m, inbox.Query{})
		before, _ := m.Size()
		said(t, d.Ledger, m, inbox.Query{})
		last, _ = m.Size()
		if round > 20 && last != before {
			t.Errorf("round %d: a second walk over what is known changes %d threads to %d", round, before, last)
		}
	}
	if last > 100 || last < 20 {
		t.Errorf("%d threads are known after %d moved 40 times", last, 20)
	}
}

// TestListsWithoutTheMemoryDoNotAgeIt: lists of open gates do not use a memory, so a full one does not forget for them
// what walks use.
func TestListsWithoutTheMemoryDoNotAgeIt(t *testing.T) {
	l, s := manyQuestions(t, 100)
	walk := func(m *inbox.Memory) (read int) {
		s.N = 0
		w := inbox.Walk{Most: 1000, Memory: m}
		must.Do(t, w.Settled(t.Context(), l, inbox.Query{}, func(*inbox.Item) bool { return true }))
		return s.N
	}
	all := inbox.NewMemory(0)
	walk(all)
	_, size := all.Size()
	m := inbox.NewMemory(size)
	first := walk(m)
	for range 20 {
		must.Get(inbox.List(t.Context(), l, &inbox.Query{Everyone: true, Memory: m}))(t)
	}
	must.Get(l.Commit(t.Context(), &ledger.Draft{Thread: "more", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	if again := walk(m); again > first/2 {
		t.Errorf("a walk over 100 threads takes %d reads, and %d once they are known", first, again)
	}
}

// A torn store changes a byte of the entries of some threads, puts others in the place of some, and can read many
// threads at once.
type torn struct {
	*memstore.Store
	broken, forged func(*posthouse.Entry) bool
}

func (s torn) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && s.broken(e) {
				e.Header[len(e.Header)-1] ^= 1
			}
			if err == nil && s.forged(e) {
				e.Prev[0] ^= 1
				e.Hash = e.Sum()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s torn) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, r := range refs {
			for e, err := range s.Read(ctx, r.Thread, posthouse.Range{Seqs: []uint64{r.Seq}, Headers: headers}) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// plain hides ReadAll.
type plain struct{ posthouse.Store }

// TestDamageIsSaidWithAMemory: entries that do not have their hash, or have one that is not the log's, are errors of a walk, as they are without a memory
// and where threads are read one by one, and are not kept.
func TestDamageIsSaidWithAMemory(t *testing.T) {
	d := open(t)
	for i := range 40 {
		id := d.ask(fmt.Sprint("t", i), "shop", posthouse.Gate{Name: "refund"})
		if i%2 == 0 {
			must.Get(d.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		}
	}
	damaged := true
	store := torn{d.Store().(*memstore.Store), func(e *posthouse.Entry) bool {
		return damaged && (strings.HasSuffix(e.Thread, "4") && e.Seq == 1 || strings.HasSuffix(e.Thread, "7"))
	}, func(e *posthouse.Entry) bool { return damaged && strings.HasSuffix(e.Thread, "2") && e.Seq == 2 }}
	many, one := must.Get(ledger.Open(store, nil))(t), must.Get(ledger.Open(plain{store}, nil))(t)
	t.Cleanup(func() { must.Do(t, many.Close()); must.Do(t, one.Close()) })
	m := inbox.NewMemory(0)
	for _, q := range []inbox.Query{{}, {Question: "refund"}, {Program: "shop"}} {
		want := said(t, one, nil, q)
		for _, damage := range []string{"hash it was written with", "thread's summary says"} {
			if q.Question == "" && !strings.Contains(strings.Join(want, "\n"), damage) {
				t.Fatalf("the damage %q is not found: %s", damage, want)
			}
		}
		wantSaid(t, "with damage, read together", said(t, many, nil, q), want)
		wantSaid(t, "with damage", said(t, many, m, q), want)
	}
	damaged = false
	for _, q := range []inbox.Query{{}, {Question: "refund"}, {Program: "shop"}} {
		wantSaid(t, "once it is mended", said(t, many, m, q), said(t, one, nil, q))
	}
}

// A halting store stops before it removes anything, as a process that is killed between a removal's record and the removal.
type halting struct {
	*memstore.Store
	halted bool
}

func (s *halting) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	if s.halted {
		return posthouse.Removed{}, errors.New("halted")
	}
	return s.Store.Remove(ctx, r)
}

// TestARemovalThatIsDoneLater: a gate that a removal has on record may be read until the removal is done. The memory
// does not keep it, since no entry says when that is; other gates of the thread it keeps.
func TestARemovalThatIsDoneLater(t *testing.T) {
	d := open(t)
	store := &halting{Store: d.Store().(*memstore.Store)}
	l := must.Get(ledger.Open(store, nil))(t)
	t.Cleanup(func() { must.Do(t, l.Close()) })
	var asked []posthouse.ID
	for i := range 2 {
		asked = append(asked, d.ask("t", "shop", posthouse.Gate{Name: fmt.Sprint("refund-", i)}))
		must.Get(d.Decide(t.Context(), asked[i], posthouse.Decision{Verdict: posthouse.Reject, By: "alice"}))(t)
		for range 80 {
			must.Get(d.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
		}
	}
	store.halted = true
	first := must.Get(d.Gate(t.Context(), asked[0]))(t)
	if _, err := retain.Delete(t.Context(), l, first.Checkpoint, &retain.DeleteOptions{Mode: retain.DeleteOrphan}); err == nil {
		t.Fatal("the deletion was done")
	}
	m := inbox.NewMemory(0)
	q := inbox.Query{Everyone: true}
	for _, when := range []string{"before the removal", "again"} {
		got := said(t, l, m, q)
		if len(got) != 3 {
			t.Fatalf("%s, a walk finds %q", when, got)
		}
		wantSaid(t, when, got, said(t, l, nil, q))
	}
	store.halted = false
	if _, err := retain.Compact(t.Context(), l); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Fatal(err)
	}
	got := said(t, l, m, q)
	if len(got) != 2 {
		t.Errorf("after the removal, a walk finds %q", got)
	}
	wantSaid(t, "after the removal", got, said(t, l, nil, q))
}

// TestAMemoryHasNoContent: with a memory a walk's gates have nothing of what is asked, the first time and later, and a
// walk that looks for it does not use the memory.
func TestAMemoryHasNoContent(t *testing.T) {
	d := open(t)
	g := posthouse.Gate{Name: "refund", Text: "secret text", Payload: []byte(`"secret payload"`), Labels: map[string]string{"secret": "label"}, Note: "secret note"}
	d.ask("t1", "shop", g)
	must.Get(d.Decide(t.Context(), d.ask("t2", "shop", g), posthouse.Decision{Verdict: posthouse.Reject, By: "alice", Reason: "secret reason"}))(t)
	m := inbox.NewMemory(0)
	for range 2 {
		w := inbox.Walk{Most: 10, Memory: m}
		each := func(item *inbox.Item) bool {
			if text := fmt.Sprintf("%+v %+v", *item.Gate, item.Gate.Decision); strings.Contains(text, "secret") {
				t.Errorf("a walk with a memory finds %s", text)
			}
			return true
		}
		must.Do(t, w.Read(t.Context(), d.Ledger, inbox.Query{}, each))
		must.Do(t, w.Settled(t.Context(), d.Ledger, inbox.Query{}, each))
		if w.Looked != 2 {
			t.Errorf("it found %d questions", w.Looked)
		}
	}
	for _, q := range []inbox.Query{{Text: "secret"}, {Label: "secret", LabelValue: "label"}, {Assignee: "bob"}, {Order: inbox.ByDeadline}} {
		w := inbox.Walk{Most: 10, Memory: m}
		must.Do(t, w.Read(t.Context(), d.Ledger, q, func(item *inbox.Item) bool {
			if item.Gate.Text == "" {
				t.Errorf("%+v finds a gate without its text", q)
			}
			return true
		}))
		if w.Looked != 1 {
			t.Errorf("%+v finds %d questions, want one", q, w.Looked)
		}
	}
}

// A report of the same questions again and again reads only the threads with new entries.
func ExampleMemory() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := led.Commit(context.Background(), &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := inbox.NewMemory(0)
	show := func(item *inbox.Item) bool {
		fmt.Println(item.Gate.Name, inbox.StateOf(item.Gate))
		return true
	}
	for range 2 {
		walk := inbox.Walk{Most: 100, Memory: memory}
		if err := walk.Read(context.Background(), led, inbox.Query{}, show); err != nil {
			fmt.Println(err)
		}
	}
	_, err = led.Decide(context.Background(), asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	if err != nil {
		fmt.Println(err)
	}
	walk := inbox.Walk{Most: 100, Memory: memory}
	if err := walk.Settled(context.Background(), led, inbox.Query{}, show); err != nil {
		fmt.Println(err)
	}
	// Output:
	// refund open
	// refund open
	// refund decided
}

// TestListsWithAMemoryReadWhatChanged: with a memory a page of decisions costs the summaries and the gates on it, and a
// count of open gates the summaries. Both are as without one.
func TestListsWithAMemoryReadWhatChanged(t *testing.T) {
	const threads = 300
	l, s := manyQuestions(t, threads)
	m := inbox.NewMemory(0)
	page := func(q inbox.Query) (p *inbox.Page, read int) {
		s.N = 0
		p = must.Get(inbox.List(t.Context(), l, &q))(t)
		return p, s.N
	}
	q := inbox.Query{Everyone: true, State: inbox.Expired, Limit: 10}
	_, without := page(q)
	q.Memory = m
	_, first := page(q)
	if _, again := page(q); first > without || again > threads+1 {
		t.Errorf("a page takes %d reads without a memory, %d and then %d with it, and there are %d threads", without, first, again, threads)
	}
	q.Program = "shop"
	page(q)
	if _, again := page(q); again > threads+1 {
		t.Errorf("a page of a program takes %d reads, and there are %d threads", again, threads)
	}
	q.State = inbox.Decided
	found, read := page(q)
	for pages := 1; found.Next != ""; pages++ {
		if read > threads+1+7*len(found.Items) || found.Items[0].Gate.Checkpoint == "" {
			t.Fatalf("page %d takes %d reads for %d gates", pages, read, len(found.Items))
		}
		q.After = found.Next
		found, read = page(q)
	}
	count := func(q inbox.Query) (c *inbox.Counts, read int) {
		s.N = 0
		c = must.Get(inbox.Count(t.Context(), l, &q, 1000))(t)
		return c, s.N
	}
	want, without := count(inbox.Query{Everyone: true})
	for range 2 {
		got, read := count(inbox.Query{Everyone: true, Memory: m})
		if got.Questions["tell"] != threads || got.Questions["tell"] != want.Questions["tell"] || got.More || read > without {
			t.Errorf("with a memory %+v are counted with %d reads, without one %+v with %d", got, read, want, without)
		}
	}
	if _, read := count(inbox.Query{Everyone: true, Memory: m}); read > threads {
		t.Errorf("a count of %d known gates takes %d reads", threads, read)
	}
	if got, _ := count(inbox.Query{Everyone: true, Memory: m, Text: "tell"}); got.Questions["tell"] != threads {
		t.Errorf("a search counts %+v", got)
	}
}
