// Command shop is a team's own binary. Your problem: you have a graph, a flow
// and a coordinator, and you want a server with an inbox, tokens and signatures
// around them, and commands to operate it, without writing any of that.
//
//	go run ./examples/shop serve
//	go run ./examples/shop send refund '{"Order":"1234","Amount":40}'   # in another terminal
//	go run ./examples/shop inbox
//
// The shop's code is in programs.go; the rest is package app.
package main

import (
	"context"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
)

func main() {
	app.Main(app.Programs{Name: "shop", Open: open})
}

// open makes the shop's programs over the Ledger of a server that starts.
func open(_ context.Context, env *app.Env) (*app.Set, error) {
	refunds, err := refund().Compile(env.Ledger, &graph.CompileOptions{
		Description: "Refunds an order once somebody approved",
		Questions:   []runs.Question{{Name: "refund", Text: "Refund the order?", Payload: Payment{}}},
	})
	if err != nil {
		return nil, err
	}
	orders, err := restock().Open(env.Ledger, nil)
	if err != nil {
		return nil, err
	}
	desk, err := desk(env.Ledger)
	if err != nil {
		return nil, err
	}
	return &app.Set{
		Programs: append(refunds.Programs(), orders, desk), // a coordinator takes requests by its name
		Agents: map[string]server.Agent{
			"refund":  app.GraphAgent(env, refunds, nil),
			"restock": app.FlowAgent(env, orders, nil),
		},
		Next: `send refund '{"Order":"1234","Amount":40}'`,
	}, nil
}
