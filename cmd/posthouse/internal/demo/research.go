package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// A Research is the state of the graph research: sources are read beside each other while figures are
// looked up, a person chooses what the report is about, and it stops before the report goes out.
type Research struct {
	Question string   `doc:"what somebody wants to know"`
	Sources  []string `doc:"where to look"`
	Findings []string `posthouse:"append" doc:"what the sources say"`
	Figures  string   `doc:"numbers for it"`
	Chart    string   `doc:"the numbers as a picture"`
	Focus    string   `doc:"what the report is about"`
	Report   string   `doc:"what the model wrote"`
}

// A Focus is what a person answers.
type Focus struct {
	Focus string `json:"focus" doc:"what the report is about"`
}

// An Outline is what people are shown before they choose.
type Outline struct {
	Question string   `json:"question" doc:"Question"`
	Findings []string `json:"findings" doc:"Findings"`
}

func openResearch(l *ledger.Ledger, w *World) (*graph.App[Research], error) {
	g := graph.New[Research]("research")
	g.Node("plan", func(ctx context.Context, s *Research) error {
		plan, err := w.ask(ctx, "plan", prompt{model: "large-2", takes: 3 * time.Second, cost: "0.0180 USD", input: s.Question, answer: "Read " + strings.Join(s.Sources, ", ") + "; look up figures"})
		s.Findings = append(s.Findings, plan)
		return err
	})
	graph.Task(g, "read", func(ctx context.Context, source string, out *Research) error {
		text, err := w.ask(ctx, "summarize", prompt{model: "small-3", takes: 2200 * time.Millisecond, cost: "0.0021 USD", input: "Read " + source, answer: source + " sees it coming, with reservations"})
		out.Findings = []string{text}
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: 20 * time.Second}})
	g.Node("figures", func(ctx context.Context, s *Research) (err error) {
		s.Figures, err = step.Do(ctx, "look up", func(ctx context.Context) (string, error) {
			return "2024: 31 %, 2025: 44 %, 2026: 52 %", w.Spend(ctx, 1400*time.Millisecond)
		})
		return err
	})
	g.Node("chart", func(_ context.Context, s *Research) error {
		s.Chart = "▂▅▇ " + s.Figures
		return nil
	})
	g.Command("focus", func(ctx context.Context, s *Research) (graph.Command, error) {
		a, err := gate.Ask[Focus](ctx, gate.Question{
			Name: "choose-focus", Kind: "form", Text: "What shall the report be about?\nThe sources are read: " + s.Question,
			Show: Outline{s.Question, s.Findings}, Verdicts: []posthouse.Verdict{posthouse.Respond, posthouse.Reject},
			Schema: object("focus", `{"enum":["costs","risks","opportunities"]}`), Labels: map[string]string{"team": "strategy"},
		})
		if err != nil {
			return graph.Command{}, err
		}
		s.Focus = a.Value.Focus
		if s.Focus == "" {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("write"), nil
	}, graph.NodeOptions{Targets: []string{"write", graph.End}})
	g.Node("write", func(ctx context.Context, s *Research) (err error) {
		s.Report, err = w.ask(ctx, "write", prompt{
			model: "large-2", takes: 14 * time.Second, cost: "0.1420 USD", input: s.Question + "\nFocus: " + s.Focus,
			answer: fmt.Sprintf("%s\n\nOn %s: %s. %d sources were read.", s.Question, s.Focus, s.Figures, len(s.Sources)),
		})
		return err
	})
	g.Node("publish", func(ctx context.Context, s *Research) error { return w.Spend(ctx, 400*time.Millisecond) },
		graph.NodeOptions{InterruptBefore: true})
	g.Edge(graph.Start, "plan")
	g.Map("plan", func(s *Research) (sends []graph.Send) {
		for _, source := range s.Sources {
			sends = append(sends, graph.Send{Node: "read", Input: source})
		}
		return sends
	}, "read")
	g.Edge("plan", "figures")
	g.Edge("figures", "chart")
	g.Join("focus", "read", "chart")
	g.Edge("write", "publish")
	g.Edge("publish", graph.End)
	return g.Compile(l, &graph.CompileOptions{
		HoldFor: w.Park, Concurrency: w.Beside, Description: "Research: sources read beside each other, a person's choice, a report",
		Questions: []runs.Question{{Name: "choose-focus", Text: "What shall the report be about?", Payload: Outline{}}},
	})
}
