package httptask_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/worker"
)

// TestReplayHasWhatWasRecorded: who follows a thread later, or from an event's id on, gets the
// steps that a handler recorded, and nothing of what it streamed.
func TestReplayHasWhatWasRecorded(t *testing.T) {
	e := startEngine(t, true)
	w, err := worker.New(e.reach("w", tokens.Worker), nil)
	must.Do(t, err)
	worker.Handle(w, "double", func(t worker.Task, in int) (int, error) {
		for _, name := range []string{"row 1", "row 2"} {
			if _, err := step.Do(t.Context(), name, func(context.Context) (int, error) { return in, nil }); err != nil {
				return 0, err
			}
			if err := t.Stream(name); err != nil {
				return 0, err
			}
		}
		return 2 * in, nil
	})
	run(t, w.Run)
	_, err = e.app.Run(t.Context(), "t", 21)
	must.Do(t, err)
	e.done("t")
	viewer, err := e.tokens.Create("viewer", tokens.Viewer, nil)
	must.Do(t, err)
	all := e.events(viewer, "start")
	var names, later []string
	var from string
	for _, x := range all {
		if x.name != "" {
			names = append(names, x.name)
		}
		if from == "" && strings.HasSuffix(x.name, ">row 1") {
			from = x.id
		}
	}
	for _, x := range e.events(viewer, from) {
		if x.name != "" {
			later = append(later, x.name)
		}
	}
	if len(names) != 2 || !strings.HasSuffix(names[0], ">row 1") || !strings.HasSuffix(names[1], ">row 2") || len(later) != 1 || later[0] != names[1] {
		t.Errorf("%q, and %q from %s on", names, later, from)
	}
}

// A followed is an event of a thread, with the name of the step that it is about.
type followed struct{ id, name string }

// events reads a thread's events after a cursor, up to its end.
func (e *engine) events(token, after string) (all []followed) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, e.http.URL+"/api/events?thread=t&after="+after, nil)
	must.Do(e.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := e.http.Client().Do(r)
	must.Do(e.t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	var id string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			if value == "chunk" {
				e.t.Error("a chunk is replayed")
			}
		case "data":
			var ev posthouse.Event
			must.Do(e.t, json.Unmarshal([]byte(value), &ev))
			x := followed{id: id}
			if ev.Step != nil {
				x.name = ev.Step.Name
			}
			all = append(all, x)
			if ev.Checkpoint != nil && ev.Checkpoint.Status == posthouse.StatusDone {
				return all
			}
		}
	}
	e.t.Fatalf("the stream ends: %v", lines.Err())
	return nil
}
