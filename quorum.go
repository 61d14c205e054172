package posthouse

import (
	"slices"
	"time"
)

// A Quorum asks several people for one vote each, approve or reject. The vote that
// meets the rule becomes the gate's decision, in the same entry.
type Quorum struct {
	Need    int  `json:"need"`              // approvals by different people that approve the gate; at least 2
	Of      int  `json:"of,omitempty"`      // how many are asked, for a gate without assignees
	Outvote bool `json:"outvote,omitempty"` // rejected once too few are left to approve; otherwise by the first rejection
}

// An Escalation widens the circle of those who may decide, at a point in time.
type Escalation struct {
	At      time.Time `json:"at"`
	To      []string  `json:"to"`
	Replace bool      `json:"replace,omitempty"` // those before lose their right
}

// An Assignment records that the right to decide a gate moved: a person handed it on,
// or the gate escalated.
type Assignment struct {
	Gate       ID        `json:"gate"`
	By         string    `json:"by"`              // who handed it on; "posthouse" for an escalation
	Actor      string    `json:"actor,omitempty"` // who sent it, when an operator acts for By
	To         []string  `json:"to"`
	Escalation bool      `json:"escalation,omitempty"`
	Replace    bool      `json:"replace,omitempty"` // of an escalation: earlier assignees lose their right
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at"`
	Seq        uint64    `json:"seq,omitempty"` // of its entry
}

// A Decider is somebody who may decide a gate.
type Decider struct {
	Name string
	For  string // whose right it was before it was handed on; "" for their own

	Via []string // all who had the right before
}

// Deciders returns who may decide the gate at a time: its assignees, as changed by
// delegations and the escalation. Nil means anyone with the role. It includes people
// who have voted, and perhaps the requester.
func (g *Gate) Deciders(at time.Time) []Decider {
	if len(g.Assignees) == 0 {
		return nil
	}
	list := make([]Decider, 0, len(g.Assignees))
	list = add(list, g.Assignees)
	escalated := false
	for _, a := range g.Assignments {
		switch {
		case a.Escalation:
			escalated = true
			list = g.escalate(list, a.To, a.Replace)
		default:
			for i := range list {
				if d := &list[i]; d.Name == a.By {
					d.Via = append(slices.Clip(d.Via), a.By)
					d.Name, d.For = a.To[0], d.Via[0]
				}
			}
		}
	}
	if e := g.Escalation; e != nil && !escalated && !at.Before(e.At) {
		list = g.escalate(list, e.To, e.Replace)
	}
	return list
}

// escalate widens the list of a gate that escalated. In a quorum each right is one vote: a person
// who handed theirs on does not get another one while it lasts.
func (g *Gate) escalate(list []Decider, to []string, replace bool) []Decider {
	if g.Quorum != nil && !replace {
		had := func(name string) bool {
			return slices.ContainsFunc(list, func(d Decider) bool { return slices.Contains(d.Via, name) })
		}
		to = slices.DeleteFunc(slices.Clone(to), had)
	}
	return widen(list, to, replace)
}

func add(list []Decider, names []string) []Decider {
	for _, n := range names {
		if !slices.ContainsFunc(list, func(d Decider) bool { return d.Name == n }) {
			list = append(list, Decider{Name: n})
		}
	}
	return list
}

func widen(list []Decider, names []string, replace bool) []Decider {
	if replace {
		list = nil
	}
	return add(list, names)
}

// Decider returns the right of a person, and whether they have one.
func (g *Gate) Decider(name string, at time.Time) (Decider, bool) {
	if len(g.Assignees) == 0 {
		return Decider{Name: name}, true
	}
	list := g.Deciders(at)
	if i := slices.IndexFunc(list, func(d Decider) bool { return d.Name == name }); i >= 0 {
		return list[i], true
	}
	return Decider{}, false
}

// Voted returns the vote that a person gave, or sent for somebody.
func (g *Gate) Voted(name string) *Decision {
	if name == "" {
		return nil
	}
	for i := range g.Votes {
		if v := &g.Votes[i]; v.By == name || v.Actor == name {
			return v
		}
	}
	return nil
}

// ownRequestHint is for a requester who would approve, even while nobody else can.
const ownRequestHint = "somebody else has to decide, with an access of their own: posthouse token create --name NAME --role approver"

// Excluded reports whether a person may not answer because the request is theirs. A
// question that nobody can approve gives no permission: anybody may answer it.
func (g *Gate) Excluded(name string) bool {
	return g.Requests(name) && g.BarsRequesters()
}

// BarsRequesters reports whether requesters may not answer the gate.
func (g *Gate) BarsRequesters() bool {
	return !g.AllowRequest && slices.ContainsFunc(GateVerdicts(), func(v Verdict) bool { return v.IsYes() && g.Allows(v) })
}

// OpenTo reports whether a person may still decide the gate at a time, as far as the
// gate itself shows.
func (g *Gate) OpenTo(name string, at time.Time) bool {
	_, ok := g.Decider(name, at)
	return ok && g.Decision == nil && g.Voted(name) == nil && (g.Quorum == nil || !g.Excluded(name))
}

// Missing returns how many approvals a quorum still needs; 0 for a gate that takes one
// decision.
func (g *Gate) Missing() int {
	if g.Quorum == nil {
		return 0
	}
	return max(0, g.Quorum.Need-g.count(Approve))
}

func (g *Gate) count(v Verdict) (n int) {
	for i := range g.Votes {
		if g.Votes[i].Verdict == v {
			n++
		}
	}
	return n
}

// Met returns what the votes decide at a time, or "" while they decide nothing.
func (g *Gate) Met(at time.Time) Verdict {
	q := g.Quorum
	if g.Missing() == 0 {
		return Approve
	}
	if !q.Outvote {
		if g.count(Reject) > 0 {
			return Reject
		}
		return ""
	}
	left := q.Of - len(g.Votes)
	if list := g.Deciders(at); list != nil {
		left = 0
		for _, d := range list {
			if g.OpenTo(d.Name, at) {
				left++
			}
		}
	}
	if left < g.Missing() {
		return Reject
	}
	return ""
}

// CheckPeople reports what is wrong with a gate's rules about people before it opens.
func (g *Gate) CheckPeople() error {
	people := add(nil, g.Assignees)
	if e := g.Escalation; e != nil {
		switch {
		case len(g.Assignees) == 0:
			return Invalid("escalation", "needs assignees: without, anyone may decide already")
		case e.At.IsZero() || len(e.To) == 0:
			return Invalid("escalation", "must say when, and to whom")
		case !g.ExpiresAt.IsZero() && !e.At.Before(g.ExpiresAt):
			return Invalid("escalation", "comes after the gate has expired")
		}
		people = widen(people, e.To, e.Replace)
	}
	q := g.Quorum
	if q == nil {
		return nil
	}
	for _, v := range g.Verdicts {
		if !v.rules().Vote {
			return Invalid("verdicts", "of a quorum are %s, not %s", JoinVerdicts(VoteVerdicts(), " and "), v)
		}
	}
	n := q.Of
	if len(g.Assignees) > 0 {
		n = len(slices.DeleteFunc(people, func(d Decider) bool { return g.Excluded(d.Name) }))
	}
	switch {
	case q.Need < 2:
		return Invalid("quorum", "needs %d approvals; one that needs less than 2 is a plain gate", q.Need)
	case q.Of != 0 && len(g.Assignees) > 0:
		return Invalid("quorum", "of %d is given beside assignees, who are counted", q.Of)
	case q.Of < 0 || n > 0 && n < q.Need || len(g.Assignees) > 0 && n < q.Need:
		return Invalid("quorum", "needs %d approvals, and %d people are asked", q.Need, n)
	case q.Outvote && n == 0:
		return Invalid("quorum", "with Outvote must say how many are asked")
	}
	return nil
}
