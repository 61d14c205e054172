package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// otherCodec is JSON in disguise: the graph must not take its bytes apart.
type otherCodec struct{ posthouse.Codec }

func (otherCodec) Name() string { return "other" }

func (c otherCodec) Marshal(v any) ([]byte, error) {
	data, err := c.Codec.Marshal(v)
	return append([]byte("!"), data...), err
}

func (c otherCodec) Unmarshal(data []byte, v any) error {
	rest, ok := strings.CutPrefix(string(data), "!")
	if !ok {
		return fmt.Errorf("not this codec's: %.10q", data)
	}
	return c.Codec.Unmarshal([]byte(rest), v)
}

func adding() *graph.Graph[lists] {
	g := graph.New[lists]("adding")
	g.Node("add", func(_ context.Context, s *lists) error {
		s.N++
		s.Flat = append(s.Flat, item{"x", s.N})
		s.Deep = append(s.Deep, deepItem{Tags: map[string]int{"n": s.N}})
		s.Log.Append(fmt.Sprint(s.N))
		return nil
	})
	g.Edge(graph.Start, "add")
	g.Route("add", func(s *lists) string {
		if s.N%5 == 0 {
			return graph.End
		}
		return "add"
	})
	return g
}

func TestCodec(t *testing.T) {
	l := newLedger(t)
	o := &graph.CompileOptions{Codec: otherCodec{posthouse.JSON}, Check: true}
	a := compile(t, adding(), l, o)
	must.Get(a.Run(t.Context(), "t", lists{}))(t)
	out := must.Get(a.Run(t.Context(), "t", lists{}))(t)
	if out.State.N != 10 || len(out.State.Deep) != 10 || out.State.Log.Len() != 10 {
		t.Fatalf("state %+v", out.State)
	}
	for i, s := range history(t, a, "t", graph.HistoryOptions{Kind: posthouse.KindNode}) {
		if n := 10 - i; len(s.State.Flat) != n || s.State.Log.Len() != n || s.State.Deep[n-1].Tags["n"] != n {
			t.Fatalf("checkpoint %d: %+v", i, s.State)
		}
	}
	if v := must.Get(l.Get(t.Context(), out.Checkpoint))(t).State["Log"]; v.Codec != "other" || v.Data[0] != '!' {
		t.Fatalf("value %+v", v)
	}
	_, err := compile(t, adding(), l, nil).Resume(t.Context(), "t") // another codec
	must.Fail(t, err, posthouse.ErrInvalid)
}

// JSON from another hand is read whatever the codec, and gone on from.
func TestJSONFromAnotherHand(t *testing.T) {
	for _, codec := range []posthouse.Codec{nil, otherCodec{posthouse.JSON}} {
		for _, flat := range []string{"null", "[]", "[ ]", " [] ", `[{"Text":"a","N":1}]`, "[ {\"N\": 1} ]\n", `[{"N":1},{"N":2} ]`} {
			l := newLedger(t)
			state := posthouse.State{"Flat": {Codec: "json", Data: []byte(flat)}, "N": {Codec: "json", Data: []byte(" 0 ")}}
			if _, err := l.Save(t.Context(), posthouse.Root("t", state), nil); err != nil {
				t.Fatal(err)
			}
			a := compile(t, adding(), l, &graph.CompileOptions{Codec: codec, Check: true})
			out := must.Get(a.Run(t.Context(), "t", lists{}))(t)
			s := must.Get(a.State(t.Context(), "t"))(t)
			if want := strings.Count(flat, "{") + 5; len(s.State.Flat) != want || encode(s.State) != encode(out.State) {
				t.Errorf("from %q: %+v", flat, s.State)
			}
		}
	}
}

// A value that cannot be stored fails the node that made it.
func TestValueThatCannotBeStored(t *testing.T) {
	type state struct {
		Any  any
		Deep []any `posthouse:"append"`
	}
	for _, bad := range []state{{Any: make(chan int)}, {Any: "\xff"}, {Deep: []any{make(chan int)}}} {
		g := graph.New[state]("bad")
		g.Node("a", func(_ context.Context, s *state) error { *s = bad; return nil })
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		a := compile(t, g, newLedger(t), nil)
		_, err := a.Run(t.Context(), "t", state{})
		must.Fail(t, err, posthouse.ErrInvalid)
		if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
			t.Errorf("head %+v", s)
		}
		_, err = a.Run(t.Context(), "t2", bad)
		must.Fail(t, err, posthouse.ErrInvalid)
		_, err = a.Update(t.Context(), "t", func(s *state) { *s = bad })
		must.Fail(t, err, posthouse.ErrInvalid)
		_, err = a.Fork(t.Context(), history(t, a, "t")[0].ID, func(s *state) { *s = bad })
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

// A message that a step recorded and the node appended is stored once.
func TestStepResultIsStoredOnce(t *testing.T) {
	l := newLedger(t)
	text := strings.Repeat("0123456789", 200)
	g := graph.New[chat]("once")
	g.Node("llm", func(ctx context.Context, s *chat) error {
		m, err := do(ctx, "llm", func() (message, error) { return message{"agent", text}, nil })
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, m)
		return nil
	})
	g.Edge(graph.Start, "llm")
	g.Edge("llm", graph.End)
	a := compile(t, g, l, nil)
	must.Get(a.Run(t.Context(), "t", chat{Messages: []message{{"user", "hi"}}}))(t)
	all := entries(t, l, "t")
	if n := len(all); n != 3 {
		t.Fatalf("%d entries", n)
	}
	size := 0
	for _, b := range all[2].Bodies {
		size += len(b)
	}
	if size > 100 {
		t.Fatalf("the checkpoint's body has %d bytes", size)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.State.last().Text != text {
		t.Fatal("the message is not what the step returned")
	}
}

func TestCoordinationAndBy(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a"), l, nil)
	must.Get(a.Run(t.Context(), "t", trail{}, graph.RunOptions{Coordination: "dispatch", By: "alice", Run: "run-7"}))(t)
	h := history(t, a, "t")
	if h[0].Coordination != "dispatch" || h[1].By != "alice" || h[0].By != "" || h[0].Run != "run-7" {
		t.Fatalf("%+v\n%+v", h[0].Header, h[1].Header)
	}
	_, err := a.Run(t.Context(), "t", trail{}, graph.RunOptions{Branch: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
}
