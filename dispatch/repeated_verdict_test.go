package dispatch_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestRepeatedVerdict does nothing, and another one is refused: in the place of the
// first, and when the task has gone on.
func TestRepeatedVerdict(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, c := range map[string]struct{ first, other task.Verdict }{
		"complete":    {task.Verdict{Action: task.Complete, Output: raw(`{ "a": "<b>" }`)}, task.Verdict{Action: task.Complete, Output: raw(`{"a":"<c>"}`)}},
		"large":       {task.Verdict{Action: task.Complete, Output: raw(`9007199254740993`)}, task.Verdict{Action: task.Complete, Output: raw(`9007199254740992`)}},
		"continue":    {task.Verdict{Action: task.Continue, Output: raw(`{ "a": "<b>" }`)}, task.Verdict{Action: task.Continue, Output: raw(`{"a":"<c>"}`)}},
		"and nothing": {task.Verdict{Action: task.Continue}, task.Verdict{Action: task.Continue, Output: raw(`1`)}},
		"fail":        {task.Verdict{Action: task.Fail, Reason: "no <route>"}, task.Verdict{Action: task.Fail, Reason: "busy"}},
		"for good":    {task.Verdict{Action: task.FailPermanent, Reason: "no route"}, task.Verdict{Action: task.FailPermanent, Reason: "busy"}},
		"retry":       {task.Verdict{Action: task.RetryAfter, Reason: "busy", Delay: 1}, task.Verdict{Action: task.Complete}},
		"pause":       {task.Verdict{Action: task.Pause, Name: "nap", Delay: task.MinPause}, task.Verdict{Action: task.Pause, Name: "rest", Delay: task.MinPause}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, memstore.New(), runs.RemoteOptions{})
				w := h.connect("w1")
				h.run("t")
				claim := h.claim(w)
				h.resolve(claim, c.first)
				goesOn := c.first.Action != task.Complete && c.first.Action != task.FailPermanent
				for range 2 {
					if err := h.d.Resolve(t.Context(), claim.ID, c.first); err != nil {
						t.Errorf("again: %v", err)
					}
					if err := h.d.Resolve(t.Context(), claim.ID, c.other); !errors.Is(err, posthouse.ErrConflict) {
						t.Errorf("another one: %v", err)
					}
					if goesOn {
						h.claim(w)
						goesOn = false
					}
				}
			})
		})
	}
}
