package statement

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
)

// An effectView shows people an effect on the world, who approved it, and what exactly was
// approved. It is never read back.
type effectView struct {
	grants.Use
	Question string              `json:"question,omitempty"`
	Verdict  posthouse.Verdict   `json:"verdict,omitempty"` // empty if it was not approved, or the gate is of another thread
	By       string              `json:"by,omitempty"`
	Decision *posthouse.Decision `json:"decision,omitempty"`
	Content  json.RawMessage     `json:"content,omitempty"` // what was approved, unless it is sealed
}

// effectViews collects the effects of one thread.
type effectViews struct {
	uses  *grants.Gatherer
	gates map[posthouse.ID]*gateView
}

type gateView struct {
	gate posthouse.Gate
	by   posthouse.DecideInfo
}

func newEffectViews() *effectViews {
	return &effectViews{uses: grants.Gather(), gates: map[posthouse.ID]*gateView{}}
}

func (v *effectViews) add(e *posthouse.Entry, recs []posthouse.Record) {
	for i := range recs {
		r := &recs[i]
		v.uses.Add(e, i, r)
		switch {
		case r.Gate != nil:
			g := &gateView{gate: posthouse.Gate{Name: r.Gate.Name}}
			if json.Unmarshal(e.Bodies[i], &g.gate) != nil || r.Sealed {
				g.gate = posthouse.Gate{Name: r.Gate.Name} // sealed, or damaged, which the check reports
			}
			g.gate.Decision = nil
			v.gates[r.Gate.ID] = g
		case r.Decision != nil:
			g := v.gates[r.Decision.Gate]
			if g == nil {
				continue
			}
			g.by = *r.Decision
			d := &posthouse.Decision{}
			if !r.Sealed && json.Unmarshal(e.Bodies[i], d) == nil {
				g.gate.Decision = d
			}
		}
	}
}

func (v *effectViews) all() []effectView {
	views := []effectView{}
	for _, u := range v.uses.Uses(false) {
		x := effectView{Use: u}
		if g := v.gates[u.Grant]; g != nil {
			x.Question, x.Verdict, x.By, x.Decision, x.Content = g.gate.Text, g.by.Verdict, g.by.By, g.gate.Decision, g.gate.Licensed()
			if x.Question == "" {
				x.Question = g.gate.Name
			}
		}
		views = append(views, x)
	}
	return views
}
