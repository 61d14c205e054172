// Command starter refunds orders. A model reads what a customer wrote, a tool looks the order
// up, somebody approves, and the money goes back once.
//
//	posthouse dev                                                        # in this directory
//	posthouse run start refund '{"Message":"please refund order 1234"}'  # in another terminal
//	posthouse inbox
//
// The graph is in refund.go. A server, an inbox, tokens, signatures and commands are package app's.
package main

import (
	"context"
	"os"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
)

func main() {
	app.Main(app.Programs{
		// serve has the model of the environment, and does not start if that names no model.
		Open: func(_ context.Context, env *app.Env) (*app.Set, error) {
			m, err := modelOf(os.Getenv)
			if err != nil {
				return nil, err
			}
			return open(env, m)
		},
		// dev has one that needs no key.
		Dev: &app.Dev{
			About: "Serve, with a model that needs no key",
			Open:  func(_ context.Context, env *app.Env) (*app.Set, error) { return open(env, fakeModel{}) },
		},
	})
}

// open makes the programs over the Ledger of a server that starts.
func open(env *app.Env, m model) (*app.Set, error) {
	refunds, err := refund(m, lookUp, transfer).Compile(env.Ledger, &graph.CompileOptions{
		Description: "Refunds an order once somebody approved",
		Questions:   []runs.Question{{Name: "refund", Text: "Refund the order?", Payload: Payment{}}},
	})
	if err != nil {
		return nil, err
	}
	say := func(message string) (Refund, error) { return Refund{Message: message}, nil }
	return &app.Set{
		Programs: refunds.Programs(),
		Agents:   map[string]server.Agent{"refund": app.GraphAgent(env, refunds, say)},
		Next:     `run start refund '{"Message":"please refund order 1234"}'`,
	}, nil
}
