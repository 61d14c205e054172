package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// A tool is what the agent can do.
type tool struct {
	llm.Tool
	Effect    posthouse.Effect
	Dangerous bool // somebody must say yes, whenever they do
	Run       func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// An Order is what both tools take.
type Order struct {
	Order string `json:"order"`
}

var orderSchema = json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"],"additionalProperties":false}`)

// shop returns the tools; note is told what happens in the world.
func shop(note func(string)) []tool {
	return []tool{
		{
			Tool:   llm.Tool{Name: "lookup", Description: "Says what is known of an order.", Parameters: orderSchema},
			Effect: posthouse.EffectRead,
			Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
				var o Order
				if err := json.Unmarshal(arguments, &o); err != nil {
					return "what is that: " + err.Error(), nil // for the model, which may do better
				}
				note("lookup " + o.Order)
				return "order " + o.Order + ": one lamp, 40 EUR, broken on arrival", nil
			},
		},
		{
			Tool:   llm.Tool{Name: "refund", Description: "Pays an order back.", Parameters: orderSchema},
			Effect: posthouse.EffectWrite, Dangerous: true,
			Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
				var o Order
				if err := json.Unmarshal(arguments, &o); err != nil {
					return "what is that: " + err.Error(), nil
				}
				// A bank takes the key. So it pays once, even if this process
				// dies before it records the payment.
				note("refund " + o.Order + " with key " + step.Key(ctx))
				return fmt.Sprintf("order %s is refunded", o.Order), nil
			},
		},
	}
}

// inSession has the dangerous tools approved on this connection, within minutes.
// Durable questions go to anyone, at any time.
func inSession(tools []tool) []tool {
	for i := range tools {
		if t := &tools[i]; t.Dangerous {
			t.Dangerous = false
			t.Run = gate.Require(t.Run, gate.Approval{Tool: t.Name, Message: "The agent wants to " + t.Name + "."})
		}
	}
	return tools
}
