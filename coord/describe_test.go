package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestStartJSON puts a request on record before its handler is called, for a runner to go on with.
func TestStartJSON(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fleet, err := coord.NewFleet()
	if err != nil {
		t.Fatal(err)
	}
	var handled []string
	handler := func(_ context.Context, message string, _ *coord.Fleet, s *coord.Session) error {
		handled = append(handled, message)
		s.Stream("answered")
		return nil
	}
	if _, err := coord.New(l, "desk", fleet, handler, &coord.Options{Questions: []runs.Question{{}}}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a question without a name: %v", err)
	}
	journal := &coord.MemoryJournal{}
	c, err := coord.New(l, "desk", fleet, handler, &coord.Options{Description: "Answers", Journal: journal, Questions: []runs.Question{{Name: "refund"}}})
	if err != nil {
		t.Fatal(err)
	}
	d := c.Describe()
	if d.Name != "desk" || d.Kind != posthouse.ProgramCoordinator || d.Description != "Answers" || !d.Starts || len(d.Questions) != 1 ||
		string(d.Input) != `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"string","title":"Request","description":"what the agents are asked to do, in words"}` || d.State != nil {
		t.Errorf("the coordinator is described as %+v", d)
	}
	for in, o := range map[string]*posthouse.StartOptions{`{}`: nil, `"x"`: {Labels: map[string]string{"event": "mine"}}} {
		if _, err := c.StartJSON(t.Context(), "r", json.RawMessage(in), o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s with %+v: %v", in, o, err)
		}
	}
	if h, err := c.StartJSON(t.Context(), "r", json.RawMessage(`"refund 1"`), &posthouse.StartOptions{DryRun: true}); h != nil || err != nil {
		t.Errorf("a dry run: %+v, %v", h, err)
	}
	h, err := c.StartJSON(t.Context(), "r", json.RawMessage(`"refund 1"`), &posthouse.StartOptions{By: "ci", Labels: map[string]string{"tenant": "acme"}})
	if err != nil || h.Status != posthouse.StatusRunning || h.By != "ci" || h.Graph != "desk" || h.Labels["tenant"] != "acme" || handled != nil {
		t.Fatalf("head %+v, %v; handled %v", h, err, handled)
	}
	if _, err := c.StartJSON(t.Context(), "r", json.RawMessage(`"refund 2"`), nil); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("begun again: %v", err)
	}
	if err := c.Advance(t.Context(), "r", posthouse.MainBranch); err != nil {
		t.Fatal(err)
	}
	got, err := l.Latest(t.Context(), ledger.LatestQuery{Thread: "r"})
	if err != nil || got.Status != posthouse.StatusDone || len(handled) != 1 || handled[0] != "refund 1" {
		t.Errorf("a runner leaves %+v, %v; handled %q", got, err, handled)
	}
	started := 0
	for e := range journal.Events(t.Context(), coord.EventQuery{}) {
		if e.Kind == coord.CoordinationStarted {
			started++
		}
	}
	if started != 1 {
		t.Errorf("the journal has %d events that the request started, want 1", started)
	}
}
