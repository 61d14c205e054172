package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

func open(t testing.TB, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(memstore.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func opaque(t testing.TB, v any) posthouse.State {
	t.Helper()
	s, err := posthouse.Opaque(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(c *posthouse.Checkpoint) string { return string(c.State[posthouse.OpaquePart].Data) }

// TestReplaceAppends checks guarantee 5: a replaced id shows its newest content,
// with Replace only, and earlier content stays in the log.
func TestReplaceAppends(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	c := posthouse.Root("coord-1", opaque(t, "v1"))
	c.ID = "my-own-id"
	first := must.Get(l.Save(ctx, c, nil))(t)
	again := must.Get(l.Save(ctx, c, nil))(t)
	if again.Seq != first.Seq {
		t.Errorf("saving equal content again appended entry %d", again.Seq)
	}
	c.State = opaque(t, "v2")
	if _, err := l.Save(ctx, c, nil); !errors.Is(err, posthouse.ErrExists) {
		t.Fatalf("other content under the same id: %v, want ErrExists", err)
	}
	must.Get(l.Save(ctx, c, &ledger.SaveOptions{Replace: true}))(t)
	got := must.Get(l.Get(ctx, "my-own-id"))(t)
	if text(got) != `"v2"` || got.Revision != 1 {
		t.Errorf("loaded %s revision %d, want v2 revision 1", text(got), got.Revision)
	}
	n := 0
	for range l.List(ctx, posthouse.Query{Coordination: "coord-1"}) {
		n++
	}
	if n != 1 {
		t.Errorf("%d checkpoints listed, want 1", n)
	}
}

func TestChatRebuilds(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	want := []string{}
	var ids []posthouse.ID
	var states []string
	c := posthouse.Root("chat", posthouse.State{"msgs": {Codec: "json", Data: []byte("[]")}, "sys": {Codec: "json", Data: []byte(`"` + string(bytes.Repeat([]byte("x"), 2000)) + `"`)}})
	c = must.Get(l.Save(ctx, c, nil))(t)
	for i := range 300 {
		want = append(want, fmt.Sprintf("message %d %s", i, bytes.Repeat([]byte{byte('a' + i%26)}, 100)))
		data, _ := json.Marshal(want)
		next := c.Derive(posthouse.State{"msgs": {Codec: "json", Data: data}, "sys": c.State["sys"]})
		c = must.Get(l.Save(ctx, next, nil))(t)
		ids = append(ids, c.ID)
		states = append(states, string(data))
	}
	l2, _ := ledger.Open(l.Store(), nil)
	for i, id := range ids {
		got := must.Get(l2.Get(ctx, id))(t)
		if string(got.State["msgs"].Data) != states[i] {
			t.Fatalf("checkpoint %d differs", i)
		}
	}
	size := 0
	for e, err := range l.Store().Read(ctx, "chat", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		size += len(e.Header)
		for _, b := range e.Bodies {
			size += len(b)
		}
	}
	t.Logf("300 messages: %d bytes in all for a state of %d", size, len(states[299]))
	// a cold ledger goes on from the head
	next := c.Derive(posthouse.State{"msgs": {Codec: "json", Data: []byte(states[299])}})
	next = must.Get(l2.Save(ctx, next, nil))(t)
	got := must.Get(l.Get(ctx, next.ID))(t)
	if len(got.State) != 1 || string(got.State["msgs"].Data) != states[299] {
		t.Error("dropped part still there")
	}
}

func TestGateWalk(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	cl := must.Get(l.Claim(ctx, "t1", "run-1"))(t)
	if _, err := l.Claim(ctx, "t1", "run-2"); !errors.Is(err, posthouse.ErrBusy) {
		t.Fatalf("second claim: %v", err)
	}
	big := json.RawMessage(`"` + string(bytes.Repeat([]byte("r"), 500)) + `"`)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t1", Claim: cl, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"a"}, State: posthouse.State{"m": {Codec: "json", Data: []byte("[]")}},
	}}))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t1", Claim: cl, Steps: []posthouse.Step{{Task: "1/a", Name: "llm", Value: posthouse.Value{Codec: "json", Data: big}}}}))(t)
	done := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t1", Claim: cl,
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"a"}},
		Gates:      []posthouse.Gate{{Name: "ok?", Task: "1/a", RequestedBy: "bob"}}}))(t)
	if err := cl.Release(ctx); err != nil {
		t.Fatal(err)
	}
	g := done.Gates[0].ID
	if _, err := l.Decide(ctx, g, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); !errors.Is(err, posthouse.ErrForbidden) {
		t.Fatalf("own request: %v", err)
	}
	dec := must.Get(l.Decide(ctx, g, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Shown: done.Gates[0].Hash}))(t)
	if dec.Decision.By != "alice" {
		t.Error("wrong decider")
	}
	_, err := l.Decide(ctx, g, posthouse.Decision{Verdict: posthouse.Reject, By: "carol"})
	var pe *posthouse.Error
	if !errors.As(err, &pe) || pe.Code != posthouse.CodeDecided || pe.Decision.By != "alice" {
		t.Fatalf("second decision: %v", err)
	}
	info := must.Get(l.Thread(ctx, "t1"))(t)
	if info.Status != posthouse.StatusReady || len(info.Waiting) != 0 {
		t.Errorf("status %q waiting %v", info.Status, info.Waiting)
	}
	head := must.Get(l.GetHeader(ctx, info.Branches[0].Head))(t)
	x := must.Get(executionOf(ctx, l, head, "1/a"))(t)
	if len(x.Steps) != 1 || len(x.Gates) != 1 || x.Gates[0].Decision == nil {
		t.Fatalf("execution: %+v", x)
	}
	// the appended step result is stored once
	cl = must.Get(l.Claim(ctx, "t1", "run-2"))(t)
	fin := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t1", Claim: cl, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Node: "a", Status: posthouse.StatusDone,
		Parts: []posthouse.Part{{Name: "m", Splice: true, Prefix: 1, Suffix: 1, Data: big}},
	}}))(t)
	if err := cl.Release(ctx); err != nil {
		t.Fatal(err)
	}
	c := must.Get(l.Get(ctx, fin.Checkpoint.ID))(t)
	if string(c.State["m"].Data) != "["+string(big)+"]" {
		t.Errorf("state %s", c.State["m"].Data)
	}
	// forks reopen
	for _, o := range []*ledger.ForkOptions{nil, {Thread: "t2"}} {
		f := must.Get(l.Fork(ctx, done.Checkpoint.ID, o))(t)
		if f.Status != posthouse.StatusWaiting || len(f.Gates) != 1 || f.Gates[0] == g || f.Source.ID != done.Checkpoint.ID {
			t.Fatalf("fork: %+v", f)
		}
		x := must.Get(executionOf(ctx, l, &f.Header, "1/a"))(t)
		if len(x.Steps) != 1 || len(x.Gates) != 1 || x.Gates[0].Decision != nil || x.Gates[0].ID != f.Gates[0] {
			t.Fatalf("fork execution: %+v", x)
		}
	}
	del := must.Get(retain.Delete(ctx, l, fin.Checkpoint.ID, nil))(t)
	t.Logf("deleted %+v", del)
	del = must.Get(retain.DeleteThread(ctx, l, "t1", nil))(t)
	t.Logf("deleted %+v", del)
	if _, err := l.Thread(ctx, "t1"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("deleted thread: %v", err)
	}
	must.Get(l.Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t1"}, State: opaque(t, 1)}, nil))(t)
}

// TestNewID takes ids from one ledger: they ascend, and a checkpoint saves under one.
func TestNewID(t *testing.T) {
	l := open(t, nil)
	id := ledger.NewID(l)
	if next := ledger.NewID(l); next <= id {
		t.Errorf("%s comes after %s", next, id)
	}
	c := posthouse.Root("t", posthouse.State{})
	c.ID = id
	if saved := must.Get(l.Save(t.Context(), c, nil))(t); saved.ID != id {
		t.Errorf("saved as %s, not as %s", saved.ID, id)
	}
}

// TestExecutions reads a step that an unfinished execution has on record.
func TestExecutions(t *testing.T) {
	l := open(t, nil)
	c := must.Get(l.Save(t.Context(), posthouse.Root("t", posthouse.State{}), nil))(t)
	must.Get(l.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
		{Task: "1/n", Name: "llm", Value: posthouse.Value{Codec: "json", Data: []byte("7")}},
	}}))(t)
	x := must.Get(ledger.Executions(t.Context(), l, &c.Header))(t)["1/n"]
	if x == nil || len(x.Steps) != 1 || x.Steps[0].Name != "llm" || string(x.Steps[0].Value.Data) != "7" {
		t.Errorf("on record: %+v", x)
	}
}
