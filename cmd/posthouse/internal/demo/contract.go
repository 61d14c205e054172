package demo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Contract is the state of the graph contract: it is drafted, reviewed by three people of whom two
// decide, and signed.
type Contract struct {
	Partner string      `doc:"with whom"`
	Subject string      `doc:"about what"`
	Value   json.Number `doc:"EUR in a year"`
	Months  int         `doc:"how long it binds us"`
	Draft   string      `doc:"what the model wrote"`
	Notes   []string    `posthouse:"append" doc:"what people and checks said, oldest first"`
	Grant   gate.Grant  `doc:"the decision that it is signed under"`
	Receipt *Receipt    `doc:"of the archive"`
}

// A Signature is what people approve.
type Signature struct {
	Partner string      `json:"partner" doc:"Partner"`
	Subject string      `json:"subject" doc:"Subject"`
	Value   json.Number `json:"value" doc:"EUR in a year"`
	Months  int         `json:"months" doc:"Months"`
	Draft   string      `json:"draft" doc:"Draft"`
}

func openContract(l *ledger.Ledger, w *World) (*graph.App[Contract], error) {
	g := graph.New[Contract]("contract")
	g.Node("draft", func(ctx context.Context, s *Contract) (err error) {
		s.Draft, err = w.ask(ctx, "draft", prompt{
			model: "large-2", takes: 9400 * time.Millisecond, cost: "0.0874 USD", input: "Draft a contract with " + s.Partner + " about " + s.Subject,
			answer: "§ 1 " + s.Partner + " provides " + s.Subject + ".\n§ 2 The fee is " + s.Value.String() + " EUR in a year.\n§ 3 Either side may end it with three months' notice.",
		})
		return err
	})
	g.Node("check", func(ctx context.Context, s *Contract) error {
		s.Notes = append(s.Notes, "the sanctions list does not name "+s.Partner)
		return w.Spend(ctx, 600*time.Millisecond)
	})
	g.Command("review", func(ctx context.Context, s *Contract) (_ graph.Command, err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{
			Name: "sign-contract", Text: "Sign the contract with " + s.Partner + " about " + s.Subject + "?",
			Assignees: []string{"bob", "carol", "dana"}, Quorum: &posthouse.Quorum{Need: 2, Outvote: true},
			Expires: 120 * time.Hour, Escalate: &gate.Escalation{After: 24 * time.Hour, To: []string{"alice"}},
			Labels: map[string]string{"team": "legal"},
		}, Signature{s.Partner, s.Subject, s.Value, s.Months, s.Draft})
		if no := refusal(err); no != "" {
			s.Notes = append(s.Notes, no)
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("sign"), err
	}, graph.NodeOptions{Targets: []string{"sign", graph.End}})
	g.Node("sign", func(ctx context.Context, s *Contract) error {
		r, err := act[Signature](ctx, w, "sign", s.Grant)
		s.Receipt = &r
		return err
	})
	g.Edge(graph.Start, "draft")
	g.Edge("draft", "check")
	g.Edge("check", "review")
	g.Edge("sign", graph.End)
	return g.Compile(l, &graph.CompileOptions{
		HoldFor: w.Park, Description: "Contracts: drafted by a model, approved by two of three people, signed",
		Questions: []runs.Question{{Name: "sign-contract", Text: "Sign the contract?", Payload: Signature{}}},
	})
}
