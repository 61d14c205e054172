package commit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// askAbandoned asks people about effects that the end of a branch leaves: nothing of the
// program runs any more that would.
func (c *Commit) askAbandoned() error {
	return eachUnsettled(c.tx, c.plan.Branch, nil, func(u *unsettled) error {
		_, err := ask(c.tx, u, "Its thread has ended. The answer is for the record: nothing runs again.")
		return err
	})
}

// ask puts on record that the outcome of an effect is unknown, and opens the question about it.
func ask(tx *core.Tx, u *unsettled, note string) (posthouse.Gate, error) {
	under, err := tx.Core.Logs.Gate(tx.Ctx, u.under)
	if err != nil {
		return posthouse.Gate{}, err
	}
	if u.use.State() != effect.Unknown && !u.marked {
		if err := addUnknown(tx, u); err != nil {
			return posthouse.Gate{}, err
		}
	}
	name := u.call[strings.LastIndex(u.call, handler.Nested)+1:]
	q := OutcomeQuestion(name, under, u.use.Attempts(), under.Licensed())
	q.Name, q.Task, q.Note = u.call+handler.Nested+q.Name, u.task, note
	if r := u.use.Reply(); r != nil {
		q.Note, q.Attempt.Said = clip(r.Note()+"\n"+note), r.Output
	}
	if e := under.Escalation; e != nil {
		own := *e
		if after := e.At.Sub(under.CreatedAt); after > 0 {
			own.At = tx.At.Add(after)
		}
		q.Escalation = &own
	}
	return AddGate(tx, &Plan{Thread: tx.Thread.Name, Branch: u.branch}, q)
}

// addUnknown adds the record that the outcome of the newest attempt of an effect is unknown.
func addUnknown(tx *core.Tx, u *unsettled) error {
	mark := struct {
		Error string `json:"error"`
	}{}
	v, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	p := &Plan{Thread: tx.Thread.Name, Branch: u.branch, Steps: []posthouse.Step{{
		Task: u.task, Name: u.call + handler.Nested + effect.RecordUnknown, Occurrence: uint32(u.use.Attempts() - 1), Effect: u.class, Grant: u.under,
		Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v},
	}}}
	return (&Commit{tx: tx, plan: p}).recordSteps()
}

// noteLost says why people are asked about an effect if its end was not seen.
const noteLost = "Nobody saw how it ended."

// note says why people are asked about an effect that is over for whoever did it.
func (u *unsettled) note() string {
	note := noteLost
	if text := u.use.Error(); text != "" {
		note = "It ended with: " + text
	}
	if parts := u.use.Parts(); len(parts) > 0 {
		note += "\nOn record within it: " + strings.Join(parts, ", ") + ". If it is done again, it continues after these."
	}
	return clip(note)
}

// clip cuts a note to what a gate takes.
func clip(s string) string {
	if len(s) > posthouse.MaxText {
		s = s[:posthouse.MaxText]
	}
	return strings.ToValidUTF8(s, "")
}

// A Taking says who takes a thread over.
type Taking struct {
	Run     string // that has claimed the thread; "": no run may have it
	Foreign bool   // the taker does not have the thread's program
}

// reconcileGrace is how long a program may be late for its next look at an effect before a process
// that does not have the program asks people.
const reconcileGrace = time.Minute

// AskLost asks people about each effect of a thread that a run left behind, which was lost or cut off
// in the middle: its outcome is unknown, and no question is open about it. One entry holds its
// state and the question. It fails with [posthouse.ErrBusy] while somebody else has the thread.
// Effects that happen once for a key are left out, their program does them again; so are those that
// the program is looking after: looked reports whether there are such.
func AskLost(ctx context.Context, c *Committer, thread string, by Taking) (asked int, looked bool, err error) {
	t, err := c.Lock(thread)
	if err != nil {
		return 0, false, err
	}
	defer c.Unlock(t)
	err = c.Append(ctx, t, func(tx *core.Tx) error {
		asked, looked = 0, false
		var claim *core.Claim
		if mine := tx.Thread.Claim; mine != nil {
			if mine.Run != by.Run {
				return tx.CheckLease(nil) // it is busy
			}
			claim = mine
		}
		var lost []*unsettled
		err := eachUnsettled(tx, "", nil, func(u *unsettled) error {
			switch {
			case !u.asks:
			case u.looks != nil && !(by.Foreign && tx.At.After(u.looks.ExpiresAt.Add(reconcileGrace))):
				looked = true
			default:
				own := *u
				lost = append(lost, &own)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case len(lost) == 0:
			return core.ErrNothing
		}
		if err := tx.CheckLease(claim); err != nil {
			return err
		}
		for _, u := range lost {
			if _, err := ask(tx, u, u.note()); err != nil {
				return err
			}
			asked++
		}
		return nil
	})
	return asked, looked, err
}

// AskEnded asks people about each effect that the handler of a task began and did not end, once that
// handler is gone and its task stays open for another worker.
func AskEnded(ctx context.Context, c *Committer, at GateRef) error {
	_, err := Assign(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) error {
		before := len(tx.Records)
		d := &posthouse.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Successor: g.ID}
		err := askEnded(tx, g, d, nil)
		if err == nil && len(tx.Records) == before {
			err = core.ErrNothing
		}
		return err
	})
	return err
}

// askEnded asks people about the effects that a task's decision leaves with an unknown outcome: those
// that its handler began and did not end, and the one that the task itself carries out, if its worker
// may have acted and no other attempt follows. said, if set, is the record of this entry that the outcome
// of one of them is unknown.
func askEnded(tx *core.Tx, g *posthouse.Gate, d *posthouse.Decision, said *posthouse.Step) error {
	if g.Kind != posthouse.GateTask || g.Call == nil || len(tx.Thread.Info.Begun) == 0 {
		return nil
	}
	ended, own := g.Clone(), *d
	own.Seq = tx.Seq
	ended.Decision = &own
	over := d.Successor == "" && (d.Verdict != posthouse.Reject || d.Unknown) && d.Verdict != Parked && d.Verdict != posthouse.Respond
	return eachUnsettled(tx, g.Branch, ended, func(u *unsettled) error {
		if !u.asks || u.task != g.Task {
			return nil
		}
		if mine := u.handler != nil && u.handler.ID == g.ID; !mine && (!over || g.Call.Grant == "" || u.call != g.Call.Use) {
			return nil
		}
		note := u.note()
		if said != nil && said.Name == u.call+handler.Nested+effect.RecordUnknown {
			u.marked = true
			if m, _ := effect.ReadMark(said.Value.Data); m.Error != "" {
				note = clip("It ended with: " + m.Error)
			}
		}
		_, err := ask(tx, u, note)
		return err
	})
}

// errAskFirst says that people are to be asked about an effect before the plan is refused for it.
var errAskFirst = errors.New("ask about the outcome first")

// askUnsettled asks people about each effect of unknown outcome about which no question is open, and
// returns the error of what was refused for that.
func askUnsettled(ctx context.Context, c *Committer, t *core.Thread, branch string) error {
	var first posthouse.ID
	err := c.Append(ctx, t, func(tx *core.Tx) error {
		first = ""
		err := eachUnsettled(tx, branch, nil, func(u *unsettled) error {
			if !u.asks {
				return nil
			}
			g, err := ask(tx, u, "Nobody saw how it ended.")
			if first == "" {
				first = g.ID
			}
			return err
		})
		if err == nil && first == "" {
			return core.ErrNothing
		}
		return err
	})
	if err != nil && !errors.Is(err, core.ErrNothing) {
		return err
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: first, Message: "the outcome of an effect of thread " + t.Name + " is unknown: it stays as it is until that is settled",
		Hint: "answer gate " + string(first) + " first",
	}
}
