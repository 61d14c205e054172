package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

func isCode(err error, code posthouse.Code) bool {
	return errors.Is(err, &posthouse.Error{Code: code})
}

// WantCode fails unless err has the code.
func (t *T) WantCode(what string, err error, code posthouse.Code) {
	t.Helper()
	if !isCode(err, code) {
		t.Errorf("%s: got %v, want an error with code %q", what, err, code)
	}
}

// WantTail fails unless an error carries the end of the log.
func (t *T) WantTail(what string, err error, tail posthouse.Position) {
	t.Helper()
	var e *posthouse.Error
	switch {
	case !errors.As(err, &e) || e.Tail == nil:
		t.Errorf("%s: %v has no Tail, want %v", what, err, tail)
	case *e.Tail != tail:
		t.Errorf("%s: the error's Tail is %v, want %v", what, *e.Tail, tail)
	}
}

// All collects an iterator. An error must be its last element.
func All[V any](t *T, seq iter.Seq2[V, error]) []V {
	t.Helper()
	vs, err := Collect(t, seq)
	t.OK(err)
	return vs
}

// Collect collects an iterator up to its error.
func Collect[V any](t *T, seq iter.Seq2[V, error]) (vs []V, failed error) {
	t.Helper()
	for v, err := range seq {
		if failed != nil {
			t.Fatalf("an iterator went on after its error %v", failed)
		}
		failed = err
		if err == nil {
			vs = append(vs, v)
		}
	}
	return vs, failed
}

// mustAppend appends the items as the log's next entry and returns the entry.
func (t *T) mustAppend(l *Log, items ...Item) *posthouse.Entry {
	t.Helper()
	b := l.Next(items...)
	t.OK(t.Store.Append(t.ctx, b))
	l.Took(b)
	return b.Entry
}

// checkpoint appends a checkpoint and returns its header.
func (t *T) checkpoint(l *Log, h posthouse.Header, body string) *posthouse.Header {
	t.Helper()
	return &headers(t.mustAppend(l, l.Checkpoint(h, body)))[0]
}

// Read reads a range of a thread.
func (t *T) Read(thread string, r posthouse.Range) []*posthouse.Entry {
	t.Helper()
	return All(t, t.Store.Read(t.ctx, thread, r))
}

// List lists headers.
func (t *T) List(q posthouse.Query) []*posthouse.Header {
	t.Helper()
	return All(t, t.Store.List(t.ctx, q))
}

// Threads lists summaries.
func (t *T) Threads(q posthouse.ThreadQuery) []*posthouse.ThreadInfo {
	t.Helper()
	return All(t, t.Store.Threads(t.ctx, q))
}

// Tail returns a log that continues a thread's summary.
func (t *T) Tail(thread string) (*Log, error) {
	infos, err := Collect(t, t.Store.Threads(t.ctx, posthouse.ThreadQuery{Thread: thread}))
	if err != nil || len(infos) == 0 {
		return t.Builder.Log(thread), err
	}
	return t.Builder.Resume(infos[0]), nil
}

// WantPlace fails unless an id leads to a sequence number; 0 means to nothing.
func (t *T) WantPlace(id posthouse.ID, thread string, seq uint64) {
	t.Helper()
	ref, err := t.Store.Find(t.ctx, id)
	switch {
	case seq == 0 && !isCode(err, posthouse.CodeNotFound):
		t.Errorf("Find(%q): got %v and error %v, want an error with code not-found", id, ref, err)
	case seq != 0 && (err != nil || ref != posthouse.Ref{Thread: thread, Seq: seq}):
		t.Errorf("Find(%q): got %v and error %v, want entry %d of thread %q", id, ref, err, seq, thread)
	}
}

// WantEntries compares entries, bodies included.
func (t *T) WantEntries(what string, got, want []*posthouse.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got entries %v, want %v", what, seqs(got), seqs(want))
		return
	}
	for i := range got {
		if diff := diffEntry(got[i], want[i]); diff != "" {
			t.Errorf("%s: entry %d of thread %q: %s", what, want[i].Seq, want[i].Thread, diff)
		}
	}
}

func seqs(es []*posthouse.Entry) []uint64 {
	ns := make([]uint64, len(es))
	for i, e := range es {
		ns[i] = e.Seq
	}
	return ns
}

// diffEntry names the first field that differs, except the cursor. An empty body must
// come back as nil, since it has no hash.
func diffEntry(got, want *posthouse.Entry) string {
	switch {
	case got.Thread != want.Thread:
		return fmt.Sprintf("Thread is %q, want %q", got.Thread, want.Thread)
	case got.Seq != want.Seq:
		return fmt.Sprintf("Seq is %d, want %d", got.Seq, want.Seq)
	case got.Generation != want.Generation:
		return fmt.Sprintf("Generation is %d, want %d", got.Generation, want.Generation)
	case got.Prev != want.Prev:
		return "Prev differs"
	case got.Hash != want.Hash:
		return "Hash differs"
	case !bytes.Equal(got.Header, want.Header):
		return "Header differs"
	case !bytes.Equal(got.Sig, want.Sig):
		return "Sig differs"
	case len(got.Bodies) != len(want.Bodies):
		return fmt.Sprintf("has %d bodies, want %d", len(got.Bodies), len(want.Bodies))
	}
	for i := range want.Bodies {
		if !bytes.Equal(got.Bodies[i], want.Bodies[i]) {
			return fmt.Sprintf("body %d has %d bytes that differ from the %d that went in", i, len(got.Bodies[i]), len(want.Bodies[i]))
		}
		if len(got.Bodies[i]) == 0 && got.Bodies[i] != nil {
			return fmt.Sprintf("body %d is empty, want nil", i)
		}
	}
	if err := got.Check(); err != nil {
		return err.Error()
	}
	return ""
}

// WantHeaders compares headers in order.
func (t *T) WantHeaders(what string, got []*posthouse.Header, want ...*posthouse.Header) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d checkpoints %v, want %d %v", what, len(got), brief(ids(got)), len(want), brief(ids(want)))
		return
	}
	for i := range got {
		if diff := DiffHeader(got[i], want[i]); diff != "" {
			t.Errorf("%s: checkpoint %d of %d: %s", what, i, len(want), diff)
			return
		}
	}
}

func ids(hs []*posthouse.Header) []posthouse.ID {
	s := make([]posthouse.ID, len(hs))
	for i, h := range hs {
		s[i] = h.ID
	}
	return s
}

// brief shortens a value for a failure message.
func brief[V any](vs []V) string {
	if len(vs) <= 12 {
		return fmt.Sprint(vs)
	}
	return fmt.Sprintf("%v and %d more", vs[:12], len(vs)-12)
}

// DiffHeader names the first field that differs.
func DiffHeader(got, want *posthouse.Header) string {
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		a, b := g.Field(i), w.Field(i)
		if at, ok := a.Interface().(time.Time); ok && at.Equal(b.Interface().(time.Time)) {
			continue
		}
		if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len() == 0 && b.Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			return fmt.Sprintf("%q has %s %v, want %q with %v", got.ID, g.Type().Field(i).Name, a, want.ID, b)
		}
	}
	return ""
}

// WantThreads compares summaries in order.
func (t *T) WantThreads(what string, got []*posthouse.ThreadInfo, want ...*posthouse.ThreadInfo) {
	t.Helper()
	if g, w := threadNames(got), threadNames(want); !slices.Equal(g, w) {
		t.Errorf("%s: got threads %v, want %v", what, brief(g), brief(w))
		return
	}
	for i := range got {
		if diff := diffThread(got[i], want[i]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func threadNames(ts []*posthouse.ThreadInfo) []string {
	s := make([]string, len(ts))
	for i, t := range ts {
		s[i] = t.Thread
	}
	return s
}

func diffThread(got, want *posthouse.ThreadInfo) string {
	g, err := got.MarshalBinary()
	must(err)
	w, err := want.MarshalBinary()
	must(err)
	if !bytes.Equal(g, w) {
		return fmt.Sprintf("the summary of thread %q is %+v, want %+v", want.Thread, *got, *want)
	}
	return ""
}

// Dump returns all that a store serves as text: threads, entries, headers and slots. It
// returns the first error instead, also of an entry that fails its checks or does not follow
// the one before, and of the store's own check. Tests of damage compare two dumps: what was
// changed is found, or the dump is the same.
func Dump(ctx context.Context, s posthouse.Store) (string, error) {
	var b bytes.Buffer
	err := printAll(&b, s.Threads(ctx, posthouse.ThreadQuery{}), func(info *posthouse.ThreadInfo) error {
		var fold posthouse.ThreadInfo
		return printAll(&b, s.Read(ctx, info.Thread, posthouse.Range{}), func(e *posthouse.Entry) error {
			return cmp.Or(e.Check(), fold.Apply(e))
		})
	})
	if err == nil {
		err = printAll(&b, s.List(ctx, posthouse.Query{}), nil)
	}
	if lister, ok := s.(posthouse.SlotLister); ok && err == nil {
		err = printAll(&b, lister.Slots(ctx, ""), nil)
	}
	if checker, ok := s.(posthouse.Checker); ok && err == nil {
		for err = range checker.Check(ctx) {
			break
		}
	}
	return b.String(), err
}

// printAll prints what a store yields, up to the first error, also one of more.
func printAll[T any](b *bytes.Buffer, all iter.Seq2[T, error], more func(T) error) error {
	for item, err := range all {
		if err == nil && more != nil {
			err = more(item)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%+v\n", item)
	}
	return nil
}
