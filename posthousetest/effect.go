package posthousetest

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
)

// An Effect is an effect on the world, as it is on record.
type Effect struct {
	grants.Use
	Gate *posthouse.Gate // that licensed it by its decision; nil for one without a license
}

// By returns who approved the effect, "" for one without a license.
func (f *Effect) By() string {
	if f.Gate == nil || f.Gate.Decision == nil {
		return ""
	}
	return f.Gate.Decision.By
}

// Effects returns what is on record of the thread's effects, oldest first: steps of class
// [posthouse.EffectWrite] and [posthouse.EffectExternal], and all that ran under a grant, also those with an
// unknown outcome.
func (t *Thread) Effects() (all []Effect) {
	t.env.t.Helper()
	uses, err := ledger.Effects(t.env.ctx, t.env.now.ledger, t.name)
	if err != nil {
		t.env.t.Fatalf("posthousetest: the effects of thread %s: %v", t.name, err)
	}
	for _, u := range uses {
		f := Effect{Use: u}
		if u.Grant != "" {
			f.Gate, err = t.env.now.ledger.Gate(t.env.ctx, u.Grant)
			if err != nil {
				t.env.t.Fatalf("posthousetest: the grant of effect %s: %v", u.Name, err)
			}
		}
		all = append(all, f)
	}
	return all
}

// Acted ends the test unless exactly one effect of a name is on record as executed, and returns
// it. Effect.By says who approved it.
func (t *Thread) Acted(name string) *Effect {
	t.env.t.Helper()
	var found []Effect
	for _, f := range t.Effects() {
		if f.Name == name && f.Status == grants.Executed {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.env.t.Fatalf("posthousetest: thread %s has %d executed effects %q, want one%s\n%s", t.name, len(found), name, listEffects(t.Effects()), t.env.report(t.name))
	}
	return &found[0]
}

// NotActed fails the test if an effect of a name is on record, as executed or with an unknown
// outcome.
func (t *Thread) NotActed(name string) {
	t.env.t.Helper()
	for _, f := range t.Effects() {
		if f.Name == name && (f.Status == grants.Executed || f.Status == grants.Unknown || f.Status == grants.Released) {
			t.env.t.Errorf("posthousetest: thread %s has the effect %q: %s\n%s", t.name, name, f.Status, t.env.report(t.name))
		}
	}
}

func listEffects(all []Effect) (s string) {
	for i := range all {
		s += "\n  effect " + all[i].Name + " on branch " + all[i].Branch + ": " + string(all[i].Status)
		if by := all[i].By(); by != "" {
			s += ", approved by " + by
		}
	}
	return s
}
