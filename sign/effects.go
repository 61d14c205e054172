package sign

import (
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
)

// maxUngranted bounds the effects without a grant that a report lists.
const maxUngranted = 10_000

// A license is a gate that may license effects by its decision.
type license struct {
	branch  string
	uses    int  // effects that it licenses; -1: its body is sealed or removed
	byName  bool // it is bound by name, so it licenses nothing
	verdict posthouse.Verdict
	by      string
	used    map[useKey]bool

	none      bool // its question licenses nothing
	elsewhere bool // it belongs to another thread
}

type useKey struct {
	task, name string
	occurrence uint32
}

// grants collects what a thread's entries say about effects on the world.
type effects struct {
	uses     *grants.Gatherer
	licenses map[posthouse.ID]*license
	carried  []carried
}

// A carried effect names a gate of another thread, from which a copy or fork took it.
type carried struct {
	gate  posthouse.ID
	key   useKey
	fault Fault // its place
}

func newEffects() *effects {
	return &effects{uses: grants.Gather(), licenses: map[posthouse.ID]*license{}}
}

// opened adds a gate. read says whether its content is known.
func (g *effects) opened(info *posthouse.GateInfo, content *posthouse.Gate, read bool) {
	switch {
	case !read:
		g.licenses[info.ID] = &license{branch: info.Branch, uses: -1}
	case content.Uses > 0:
		g.licenses[info.ID] = &license{branch: info.Branch, uses: content.Uses, byName: content.Bind == posthouse.ByName}
	}
}

func (g *effects) decided(d *posthouse.DecideInfo) {
	if l := g.licenses[d.Gate]; l != nil {
		l.verdict, l.by = d.Verdict, d.By
	}
}

// effects checks the effects of an entry, after its other records.
func (c *chain) effects(e *posthouse.Entry, recs []posthouse.Record) {
	g, fork := c.grants, false
	for i := range recs {
		fork = fork || recs[i].Checkpoint != nil && recs[i].Checkpoint.Kind == posthouse.KindFork
		if r := recs[i].Release; r != nil && c.lacks(r.First) {
			return // the gates of its effects went with the version
		}
	}
	for i := range recs {
		u := g.uses.Add(e, i, &recs[i])
		if u == nil || recs[i].Step == nil || recs[i].Step.Grant == "" {
			continue
		}
		at, key, id := Fault{Kind: FaultGrant, Thread: c.thread, Seq: e.Seq, Record: i, ID: u.Grant}, useKey{u.Task, u.Name, u.Occurrence}, u.Grant
		l := g.licenses[id]
		if l == nil {
			_, here := c.records.gates[id]
			l = &license{none: here, elsewhere: !here}
			g.licenses[id] = l
		}
		if l.used[key] || fork && !l.elsewhere { // a retry, or taken along by a fork
			continue
		}
		why := l.refuses(recs[i].Step.Branch, key)
		switch {
		case l.elsewhere:
			g.carried = append(g.carried, carried{id, key, at})
		case why != "":
			at.Message = fmt.Sprintf("the effect %q is not licensed by the gate that it names: %s", u.Name, why)
			c.report.Faults = append(c.report.Faults, at)
		}
	}
}

// refuses counts an effect and returns why the gate does not license it, "" if it does.
func (l *license) refuses(branch string, key useKey) string {
	if l.used == nil {
		l.used = map[useKey]bool{}
	}
	l.used[key] = true
	switch {
	case l.none:
		return "its answer licenses none"
	case l.verdict == "":
		return "it was not decided by then"
	case !l.verdict.IsYes():
		return "the answer is " + string(l.verdict) + ", by " + l.by
	case l.byName:
		return "its question is bound by name"
	case l.branch != branch:
		return "it was answered on another branch"
	case l.uses >= 0 && len(l.used) > l.uses:
		return fmt.Sprintf("it licenses %d, and as many began before", l.uses)
	}
	return ""
}

// countEffects counts the effects of a thread and lists those without a grant.
func (c *chain) countEffects() {
	for _, u := range c.grants.uses.Uses(false) {
		if u.Grant != "" {
			c.report.granted(&u)
			continue
		}
		what := fmt.Sprintf("step %q of %s", u.Name, u.Task)
		if u.Task == "" {
			what = fmt.Sprintf("node %q", u.Name)
		}
		c.report.ungranted(Fault{Kind: FaultGrant, Thread: c.thread, Seq: u.First, Record: -1, Message: what + " acted on the world without a grant"})
	}
}

// granted counts an effect that names a grant.
func (r *Report) granted(u *grants.Use) {
	r.Granted++
	claims := 0
	for _, p := range u.Places() {
		if !p.Undone {
			claims++
		}
	}
	if r.Attempts += claims; claims > 0 {
		r.AtWorkers++
	}
	if u.Status == grants.Unknown {
		r.Unknown++
	}
}

func (r *Report) ungranted(f Fault) {
	if len(r.Ungranted) < maxUngranted {
		r.Ungranted = append(r.Ungranted, f)
	} else {
		r.UngrantedMore++
	}
}

// origins checks that each carried effect ran under the gate that it names, in the gate's
// own thread.
func (v *verifier) origins(all []carried) error {
	ran := map[posthouse.ID]map[useKey]bool{} // effects by gate; nil if the gate is gone
	for _, x := range all {
		keys, known := ran[x.gate]
		if !known {
			var err error
			keys, err = v.ranUnder(x.gate)
			if err != nil {
				return err
			}
			ran[x.gate] = keys
		}
		switch {
		case keys == nil:
			x.fault.Message = fmt.Sprintf("the effect %q names a gate that is not in the store, or not any more", x.key.name)
			v.report.ungranted(x.fault)
		case !keys[x.key]:
			x.fault.Message = fmt.Sprintf("the effect %q names a gate of another thread, under which no such effect ran there", x.key.name)
			v.report.Faults = append(v.report.Faults, x.fault)
		}
	}
	return nil
}

// ranUnder returns the effects that name a gate in the gate's own thread, nil if the gate
// is unknown.
func (v *verifier) ranUnder(id posthouse.ID) (map[useKey]bool, error) {
	ref, err := v.store.Find(v.ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) || isDamage(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, uses := map[useKey]bool{}, grants.Gather()
	for e, err := range v.store.Read(v.ctx, ref.Thread, posthouse.Range{From: ref.Seq, Headers: true}) {
		if isDamage(err) {
			return keys, nil // the damage is reported with its thread
		}
		if err != nil {
			return nil, err
		}
		recs, err := e.Records()
		if err != nil {
			return keys, nil
		}
		for i := range recs {
			if u := uses.Add(e, i, &recs[i]); u != nil && recs[i].Step != nil && recs[i].Step.Grant == id {
				keys[useKey{u.Task, u.Name, u.Occurrence}] = true
			}
		}
	}
	return keys, nil
}

// require turns the effects without a grant into faults.
func (r *Report) require() {
	r.Faults = append(r.Faults, r.Ungranted...)
	if r.UngrantedMore > 0 {
		r.Faults = append(r.Faults, Fault{Kind: FaultGrant, Record: -1, Message: fmt.Sprintf("%d effects more acted on the world without a grant", r.UngrantedMore)})
	}
}
