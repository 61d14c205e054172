package graph_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A model's answer is read word by word, beside what each node changed.
func ExampleApp_Stream_modes() {
	type Chat struct {
		Question string
		Answer   string
	}
	g := graph.New[Chat]("chat")
	g.Node("answer", func(ctx context.Context, s *Chat) (err error) {
		s.Answer, err = step.Do(ctx, "llm", func(ctx context.Context) (string, error) {
			var all strings.Builder
			out := io.MultiWriter(&all, step.Writer(ctx)) // what a model's client writes to
			for _, word := range []string{"It ", "depends."} {
				io.WriteString(out, word)
			}
			step.Emit(ctx, map[string]int{"tokens": 2})
			return all.String(), nil
		})
		return err
	})
	g.Edge(graph.Start, "answer")
	g.Edge("answer", graph.End)

	led, _ := ledger.Open(memstore.New(), nil)
	defer led.Close()
	app, _ := g.Compile(led, nil)
	o := graph.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamCustom, runs.StreamUpdates}}
	for e, err := range app.Stream(context.Background(), "chat-1", Chat{Question: "Is it true?"}, o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e.Kind {
		case runs.EventMessage:
			fmt.Printf("%s/%s says %q\n", e.Node, e.Step, e.Text)
		case runs.EventCustom:
			fmt.Println(e.Node, "reports", e.Value)
		case runs.EventUpdate:
			fmt.Printf("%s set Answer to %s\n", e.Node, e.Updates["Answer"].Data)
		case runs.EventEnd:
			fmt.Println("the end:", e.State.Answer)
		}
	}
	// Output:
	// answer/llm says "It "
	// answer/llm says "depends."
	// answer reports map[tokens:2]
	// answer set Answer to "It depends."
	// the end: It depends.
}
