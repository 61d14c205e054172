// Command generate writes a SQLite store in which a task is open under a grant, as commit 39d2def
// did: run it in a checkout of that. With a second argument a worker has the task.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task"
)

type bankTransfer struct { // as internal/proof/e2e/content has it, else the question is asked again
	To     string
	Amount int
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	st := must(sqlitestore.Open(ctx, os.Args[1], nil))
	l := must(ledger.Open(st, &ledger.Options{Validate: gate.Validator()}))
	app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			return step.Remote[string](ctx, "pay", "pay", t)
		})
	}).Open(l, nil))
	must(app.Run(ctx, "t", 10))
	for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: "t"}) {
		if err != nil {
			panic(err)
		}
		must(l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	}
	r := must(app.Resume(ctx, "t"))
	fmt.Println(r.Status, r.Checkpoint)
	if len(os.Args) > 2 {
		d := must(dispatch.New(l, &dispatch.Options{Wait: time.Second}))
		go d.Run(ctx)
		w := must(d.Connect(ctx, task.Hello{Protocol: task.Protocol, Worker: "w0", Tasks: []string{"pay"}, AtOnce: 5}))
		var c *task.Claim
		for c == nil {
			c = must(d.Claim(ctx, w.ID))
		}
		fmt.Printf("%+v %+v\n", w, c)
	}
	if err := st.Close(); err != nil {
		panic(err)
	}
}
