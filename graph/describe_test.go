package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

type saleLine struct {
	Item  string `json:"item" doc:"what is sold"`
	Count int8   `json:"count,omitempty"`
}

type saleParty struct {
	Name  string `doc:"as on the bill"`
	Email string `json:"email"`
}

type sale struct {
	Buyer  saleParty         `doc:"who pays"`
	Seller *saleParty        `json:"seller" posthouse:"name=from"`
	Lines  []saleLine        `json:"lines" doc:"what the bill lists"`
	Log    graph.Log[string] `json:"log" doc:"what happened"`
	Total  float64           `json:"total" posthouse:"sum"`
	Cache  string            `posthouse:"-"`
}

func compileSale(t *testing.T, l *ledger.Ledger) *graph.App[sale] {
	t.Helper()
	g := graph.New[sale]("sale")
	g.Node("bill", func(_ context.Context, s *sale) error { s.Total += float64(len(s.Lines)); return nil })
	g.Edge(graph.Start, "bill")
	g.Edge("bill", graph.End)
	app, err := g.Compile(l, &graph.CompileOptions{
		Description: "Bills a sale", Questions: []runs.Question{{Name: "bill", Text: "Send the bill?", Payload: saleParty{}}, {Name: "late"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestDescribe compares the schemas of a graph with nested types and doc tags: the input has the
// names of encoding/json, the state those of its parts.
func TestDescribe(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	app := compileSale(t, l)
	d := app.Describe()
	if d.Name != "sale" || d.Kind != posthouse.ProgramGraph || d.Version != app.Fingerprint() || d.Description != "Bills a sale" || !d.Starts {
		t.Errorf("the graph is described as %+v", d)
	}
	const begin, party = `{"$schema":"https://json-schema.org/draft/2020-12/schema",`,
		`{"saleParty":{"type":"object","properties":{"Name":{"type":"string","description":"as on the bill"},"email":{"type":"string"}},"additionalProperties":false}}`
	const rest = `"lines":{"type":["array","null"],"items":{"type":"object","properties":{` +
		`"item":{"type":"string","description":"what is sold"},"count":{"type":"integer","minimum":-128,"maximum":127}},"additionalProperties":false},` +
		`"description":"what the bill lists"},"log":{"type":["array","null"],"items":{"type":"string"},"description":"what happened"},"total":{"type":"number"}`
	const null = `{"anyOf":[{"$ref":"#/$defs/saleParty"},{"type":"null"}]}`
	for what, have := range map[string][2]string{
		"input": {string(d.Input), begin + `"type":"object","properties":{"Buyer":{"$ref":"#/$defs/saleParty","description":"who pays"},"seller":` + null + `,` +
			rest + `,"Cache":{"type":"string"}},"additionalProperties":false,"$defs":` + party + `}`},
		"state": {string(d.State), begin + `"type":"object","properties":{"Buyer":{"$ref":"#/$defs/saleParty","description":"who pays"},"from":` + null + `,` +
			strings.NewReplacer(`"lines":`, `"Lines":`, `"log":`, `"Log":`, `"total":`, `"Total":`).Replace(rest) + `},"additionalProperties":false,"$defs":` + party + `}`},
		"payload": {string(d.Questions[0].Payload), begin + `"type":"object","properties":{"Name":{"type":"string","description":"as on the bill"},"email":{"type":"string"}},"additionalProperties":false}`},
	} {
		if have[0] != have[1] {
			t.Errorf("the schema of the %s is\n%s\nwant\n%s", what, have[0], have[1])
		}
	}
	if q := d.Questions; len(q) != 2 || q[0].Name != "bill" || q[0].Text != "Send the bill?" || q[1].Name != "late" || q[1].Payload != nil {
		t.Errorf("the questions are %+v", q)
	}
	g := graph.New[sale]("sale")
	g.Node("a", func(context.Context, *sale) error { return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	if _, err := g.Compile(l, &graph.CompileOptions{Questions: []runs.Question{{Name: "x"}, {Name: "x"}}}); err == nil || !strings.Contains(err.Error(), `"x" twice`) {
		t.Errorf("a question that is declared twice: %v", err)
	}
}

// TestStartJSON puts an input on record, executes nothing, and leaves it to whoever goes on.
func TestStartJSON(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	app := compileSale(t, l)
	begin := func(thread, in string, o *posthouse.StartOptions) (*posthouse.Header, error) {
		return app.StartJSON(t.Context(), thread, json.RawMessage(in), o)
	}
	for in, field := range map[string]string{
		`{"buyer":{"Name":"a"},"lines":[{"item":"lamp"},{"itme":"x"}]}`: "input.lines[1].itme",
		`{"lines":[{"count":1000}]}`:                                    "input.lines[0].count",
		`{"total":"12"}`:                                                "input.total",
		`[]`:                                                            "input",
		``:                                                              "input",
		`{`:                                                             "input",
	} {
		var e *posthouse.Error
		if h, err := begin("bad", in, nil); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field || !strings.Contains(e.Hint, `"item": text`) || h != nil {
			t.Errorf("%s: %v, hint %v, head %v, want an error of field %s", in, err, e, h, field)
		}
	}
	o := &posthouse.StartOptions{By: "ci", Labels: map[string]string{"tenant": "acme"}, DryRun: true}
	if h, err := begin("s-1", `{"lines":[{"item":"lamp"}]}`, o); h != nil || err != nil {
		t.Errorf("a dry run: %v, %v", h, err)
	}
	if _, err := l.Thread(t.Context(), "s-1"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a dry run and bad inputs leave a thread: %v", err)
	}
	o.DryRun = false
	h, err := begin("s-1", `{"lines":[{"item":"lamp"}]}`, o)
	if err != nil || h.Thread != "s-1" || h.Status != posthouse.StatusRunning || h.Kind != posthouse.KindInput || h.By != "ci" || h.Labels["tenant"] != "acme" {
		t.Fatalf("head %+v, %v", h, err)
	}
	for _, dry := range []bool{false, true} {
		if h, err := begin("s-1", `{}`, &posthouse.StartOptions{DryRun: dry}); !errors.Is(err, posthouse.ErrExists) || h != nil {
			t.Errorf("begun again: %+v, %v", h, err)
		}
	}
	res, err := app.Resume(t.Context(), "s-1")
	if err != nil || res.Status != posthouse.StatusDone || res.State.Total != 1 {
		t.Errorf("whoever goes on has %+v, %v", res, err)
	}
	if h, err := begin("", `{}`, nil); err != nil || h.Thread == "" || h.Thread == posthouse.DefaultThread {
		t.Errorf("without a name: %+v, %v", h, err)
	}
}
