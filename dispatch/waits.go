package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/task"
)

// encodeWaits encodes all that the handler of a claim waits for, with the times of questions by
// the engine's clock; the escalation of an edit's question counts from when the edited one was
// asked. A worker of another session may be of another version, and ask otherwise.
func (a *attempts) encodeWaits(ctx context.Context, c *claims.Claim, waits []task.Wait) (json.RawMessage, error) {
	have, err := a.log.Licensed(ctx, c.Gate)
	if err != nil {
		return nil, err
	}
	now := a.core.Now()
	out := make([]handler.Wait, len(waits))
	for i, w := range waits {
		edited, err := checkWait(&have, &w)
		if err != nil {
			return nil, err
		}
		if w.Question != nil {
			g := w.Question.Clone()
			shift(&g.ExpiresAt, now)
			if g.Escalation != nil {
				e, from := *g.Escalation, now
				if edited != nil {
					from = edited.CreatedAt
				}
				shift(&e.At, from)
				g.Escalation = &e
			}
			for i := range g.Remind {
				shift(&g.Remind[i], now)
			}
			if err := cmp.Or(handler.CheckName("question", g.Name), commit.ValidateGate(g, false), a.core.Rules.MayOpen(g)); err != nil {
				return nil, err
			}
			g.Instance = c.ID.Session
			w.Question = g
		}
		out[i] = handler.Wait{Question: w.Question, Edited: w.Edited, Act: (*handler.Use)(w.Act), Signal: w.Signal, Latch: w.Latch, Timeout: w.Timeout}
	}
	return json.Marshal(out)
}

// checkWait checks what a wait says of a task's gates. It returns the gate that carries
// the edit its question proposes, nil for another wait.
func checkWait(t *license.Task, w *task.Wait) (*posthouse.Gate, error) {
	if w.Act != nil {
		_, err := t.Grant(w.Act.Grant)
		return nil, err
	}
	if w.Edited == "" {
		return nil, nil
	}
	g, err := t.Grant(w.Edited)
	if err == nil && g.Decision.Verdict != posthouse.Edit {
		err = posthouse.Invalid("edited", "%s was not edited", g.ID)
	}
	return g, err
}

// sameWaits reports whether waits on record are those of a verdict, whenever it is repeated: the
// times that a handler gives count from when the engine reads them.
func sameWaits(recorded json.RawMessage, waits []task.Wait) bool {
	plain := func(data []byte) (out []byte) {
		var list []task.Wait
		if json.Unmarshal(data, &list) != nil {
			return nil
		}
		for i := range list {
			if g := list[i].Question; g != nil {
				g.Instance, g.ExpiresAt, g.Remind = "", time.Time{}, nil
				if g.Escalation != nil {
					g.Escalation.At = time.Time{}
				}
			}
		}
		out, _ = json.Marshal(list)
		return out
	}
	again, err := json.Marshal(waits)
	was := plain(recorded)
	return err == nil && was != nil && bytes.Equal(was, plain(again))
}

// shift moves a time that counts from [handler.Epoch] to count from now.
func shift(t *time.Time, now time.Time) {
	if !t.IsZero() {
		*t = now.Add(t.Sub(handler.Epoch))
	}
}
