package grants

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/sign"
)

// check compares what the witness saw with what people decided, and with the record.
func (w *world) check() {
	w.here.store.Die(0, false)
	w.checkAsked()
	w.witness.mu.Lock()
	defer w.witness.mu.Unlock()
	keys := map[*decision]map[string]bool{}
	for _, x := range w.witness.all {
		d := w.decisionOf(x)
		if d == nil {
			w.witness.fault(ownGrant, "%s ran under %q, which nobody approved: %s", x.key, x.grant, encode(x.under))
			continue
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		if x.fate != undone {
			keys[d][x.key] = true
		}
		w.checkDecision(x, d)
	}
	for d, of := range keys {
		if len(of) > max(1, d.gate.Uses) {
			w.witness.fault(ownGrant, "%s licenses %d effects, and %d acted or may have: %v", d.gate.ID, d.gate.Uses, len(of), of)
		}
	}
	for id, d := range w.decided {
		w.checkKept(id, d, keys[d])
	}
	w.checkRecord()
}

// rest has all branches go on, and gives workers and leases their time, without anybody who answers. The
// last process may be lost in that: a runner that begins after it asks about what it left.
func (w *world) rest() {
	w.here.store.Die(0, false)
	for range 3 {
		w.resumeIn(w.here, w.branches(), "")
		w.pass(10 * time.Second)
		w.revive()
	}
	w.here.store.Die(0, false)
	r, err := runner.New(w.here.ledger, nil)
	w.must(err)
	for range 2 { // it looks for as long as a lease at a process before it takes that for lost
		w.must(r.Settle(w.ctx))
		w.pass(6 * time.Second)
	}
	w.must(r.Settle(w.ctx))
}

// checkAsked looks for effects with an unknown outcome that nobody is asked about: not by what the record
// says of them, but by what the bank knows.
func (w *world) checkAsked() {
	open := map[string]bool{}
	for _, g := range w.gates() {
		if g.Kind == gate.KindOutcome {
			open[placeOf(g.Thread, g.Branch)+" "+string(canonical(g.Payload))] = true
		}
	}
	w.witness.mu.Lock()
	defer w.witness.mu.Unlock()
	for _, x := range w.witness.all {
		if x.fate != lostActed && x.fate != lost || x.known || x.settled || x.idempotent {
			continue
		}
		if !open[x.at+" "+string(x.content)] {
			w.witness.fault(asked, "it is not known whether %s acted, and nobody is asked: %s", x.key, x.content)
		}
	}
}

// checkKept looks for an approval that may still be used.
func (w *world) checkKept(id posthouse.ID, d *decision, used map[string]bool) {
	if d.gate.Uses == 0 || len(used) >= d.gate.Uses || w.witness.paid[id] || d.gate.Decision.Verdict == posthouse.Edit {
		return // an edit goes on under a gate of the runtime's
	}
	if w.takenAway[d.gate.Thread] {
		return
	}
	if _, err := w.lookUp(id); !errors.Is(err, posthouse.ErrNotFound) {
		return
	}
	info, err := w.here.ledger.Thread(w.ctx, d.gate.Thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		if w.removed[d.gate.Thread] {
			w.witness.fault(kept, "%s was approved and not used, and its unfinished thread %s is gone", id, d.gate.Thread)
		}
		return // it was finished, and removed whole
	}
	w.must(err)
	if _, ok := info.Branch(d.gate.Branch); ok {
		w.witness.fault(kept, "%s was approved and not used, and is gone", id)
	}
}

// decisionOf returns what people decided under an execution's grant. That may be a gate of the
// runtime's, which holds an edit by somebody who may approve what they made of it.
func (w *world) decisionOf(x *execution) *decision {
	if d := w.decided[x.grant]; d != nil {
		return d
	}
	g := x.under
	if g == nil || g.Decision == nil {
		return nil
	}
	for id, d := range w.decided {
		if d.gate.Decision.Verdict == posthouse.Edit && d.gate.Decision.By == g.Decision.By && strings.Contains(g.Decision.Reason, string(id)) {
			return d
		}
	}
	return nil
}

// checkDecision compares an execution with the decision that it names.
func (w *world) checkDecision(x *execution, d *decision) {
	if d.gate.Origin != "" || placeOf(d.gate.Thread, d.gate.Branch) != x.at {
		w.witness.fault(ownGrant, "%s ran under %s of %s", x.key, x.grant, placeOf(d.gate.Thread, d.gate.Branch))
	}
	if d.gate.Uses == 0 {
		w.witness.fault(noAnswer, "%s ran under %s, which gate.Ask asked", x.key, x.grant)
	}
	if !bytes.Equal(x.content, d.content) || text.Visible(string(x.content)) != string(d.saw) {
		w.witness.fault(shown, "%s acts on %q, and people saw %q", x.key, x.content, d.saw)
	}
	var c payment
	w.must(json.Unmarshal(x.content, &c))
	of := w.dealOf(c.Deal)
	voters := []string{d.gate.Decision.By}
	if len(d.gate.Votes) > 0 {
		voters = voters[:0]
		for _, v := range d.gate.Votes {
			if v.Verdict == posthouse.Approve && !slices.Contains(voters, v.By) {
				voters = append(voters, v.By)
			}
		}
	}
	edited := d.gate.Decision.Verdict == posthouse.Edit
	if n := of.need(&c); len(voters) < n {
		w.witness.fault(assigned, "%s needs %d people, and %v approved %s", x.key, n, voters, x.grant)
	}
	at := map[string]time.Time{d.gate.Decision.By: d.gate.Decision.At}
	for _, v := range d.gate.Votes {
		at[v.By] = v.At
	}
	for _, v := range voters {
		if slices.Contains(c.By, v) {
			w.witness.fault(requesters, "%s: %s approved %s, and had a hand in %s", x.key, v, x.grant, x.content)
		}
		may := of.people(&c)
		if v == substitute && may != nil {
			if waited := at[v].Sub(d.asked); !of.escalates || !d.asked.IsZero() && waited < patience-time.Second {
				w.witness.fault(assigned, "%s: %s approved %s of %s after %s", x.key, v, x.grant, x.content, waited)
			}
			continue
		}
		if may != nil && !slices.Contains(may, v) && (edited || !slices.Contains(d.delegates, v)) {
			w.witness.fault(assigned, "%s: %s approved %s of %s, which is for %v", x.key, v, x.grant, x.content, may)
		}
	}
}

// checkRecord compares the record with the witness.
func (w *world) checkRecord() {
	l := w.here.ledger
	for _, x := range w.witness.all {
		g, err := ledger.ReadGrant(w.ctx, l, x.grant)
		if errors.Is(err, posthouse.ErrNotFound) {
			continue // it was used, and removed since
		}
		if err != nil {
			w.witness.fault(recorded, "the grant %s cannot be read: %v", x.grant, err)
			continue
		}
		i := slices.IndexFunc(g.Uses, func(u grants.Use) bool { return strings.HasSuffix(u.Name, "pay-"+x.deal) })
		switch {
		case i < 0:
			w.witness.fault(recorded, "%s is not among the uses of %s: %+v", x.key, x.grant, g.Uses)
		case x.didAct() && !slices.ContainsFunc(g.Uses, func(u grants.Use) bool { return u.Status != grants.Decided }):
			w.witness.fault(recorded, "%s acted, and the record of %s says that it did not: %+v", x.key, x.grant, g.Uses)
		}
	}
	if w.witness.arm != 0 {
		return
	}
	r, err := sign.Verify(w.ctx, w.below, nil, &sign.VerifyOptions{RequireGrants: true})
	w.must(err)
	for _, f := range r.Faults {
		if strings.HasSuffix(f.Message, "not in the store, or not any more") {
			continue // it is of a copy; its original was removed
		}
		w.witness.fault(recorded, "verify: %s", f)
	}
	w.witness.count["verified effects"] += r.Granted
}
