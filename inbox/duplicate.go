package inbox

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
)

// Bounds of [Duplicates]: how many it returns, and how many entries of the log it reads for them.
const (
	maxDuplicates    = 20
	maxDuplicateLook = 20_000
)

// A Duplicate is a question that asks the same as another one of its thread, on another branch. An
// approval of each has its effect done twice.
type Duplicate struct {
	Gate    posthouse.ID      `json:"gate"`
	Branch  string            `json:"branch"`
	Seq     uint64            `json:"seq" doc:"of the entry that asks"`
	Intent  string            `json:"intent" doc:"what it asks, in one line"`
	State   State             `json:"state" doc:"open, or decided by a person with yes or an answer"`
	Status  grants.Status     `json:"status" doc:"how far its effects have come: proposed, decided, released, executed or unknown"`
	Verdict posthouse.Verdict `json:"verdict,omitempty"`
	By      string            `json:"by,omitempty" doc:"who decided"`
	At      time.Time         `json:"at,omitzero" doc:"when it was decided"`
}

// Duplicates returns the questions on other branches of an open gate's thread that ask the same: they have
// its name, and wait too, or got a yes or an answer after the branches had parted. Where a branch asked
// from the same step, its other questions of the name do not count. The newest are first, at most 20 of
// the newest 20,000 entries. A gate that waits for no person, or no longer waits, has no duplicates.
func Duplicates(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) ([]Duplicate, error) {
	if g.Decision != nil || !forPeople(g.Kind) {
		return nil, nil
	}
	info, err := l.Thread(ctx, g.Thread)
	if gone(err) {
		return nil, nil
	}
	if err != nil || len(info.Branches) < 2 {
		return nil, err
	}
	s := &duplicateSearch{gate: g, line: map[string]uint64{g.Branch: g.Seq}, decided: map[posthouse.ID]decidedAt{}}
	h, err := l.GetHeader(ctx, g.Checkpoint)
	if err != nil {
		return nil, err
	}
	s.next = h.Seq
	for e, err := range l.Log(ctx, g.Thread, posthouse.Range{From: info.First, Reverse: true, Headers: true, Limit: maxDuplicateLook}) {
		if unread(err) {
			break // what is newer counts all the same
		}
		if err != nil {
			return nil, err
		}
		s.entry(e)
	}
	var all []Duplicate
	for _, id := range s.result() {
		d, err := duplicate(ctx, l, id)
		if gone(err) || unread(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *d)
		if len(all) == maxDuplicates {
			break
		}
	}
	return all, nil
}

func duplicate(ctx context.Context, l *ledger.Ledger, id posthouse.ID) (*Duplicate, error) {
	grant, err := ledger.ReadGrant(ctx, l, id)
	if err != nil {
		return nil, err
	}
	g := grant.Gate
	d := &Duplicate{Gate: g.ID, Branch: g.Branch, Seq: g.Seq, Intent: gate.Intent(g), State: StateOf(g), Status: grant.Status}
	if g.Decision != nil {
		d.Verdict, d.By, d.At = g.Decision.Verdict, g.Decision.By, g.Decision.At
	}
	return d, nil
}

// A duplicateSearch reads a log from its end.
type duplicateSearch struct {
	gate    *posthouse.Gate
	line    map[string]uint64 // the branches that led to the gate, each up to the entry where the next one left it
	next    uint64            // the entry of the next checkpoint on the way to the gate
	decided map[posthouse.ID]decidedAt
	found   []*posthouse.GateInfo
}

// A decidedAt is a verdict and its entry; the zero value is that of a gate that waits.
type decidedAt struct {
	verdict posthouse.Verdict
	seq     uint64
}

func (s *duplicateSearch) entry(e *ledger.LogEntry) {
	for i := range e.Records {
		rec := &e.Records[i]
		switch {
		case rec.Decision != nil:
			s.decided[rec.Decision.Gate] = decidedAt{rec.Decision.Verdict, e.Seq}
		case rec.Checkpoint != nil && e.Seq == s.next:
			if _, ok := s.line[rec.Checkpoint.Branch]; !ok {
				s.line[rec.Checkpoint.Branch] = e.Seq
			}
			s.next = rec.Checkpoint.ParentSeq
		}
	}
	for i := range e.Records {
		g := e.Records[i].Gate
		if g == nil || g.Name != s.gate.Name || g.ID == s.gate.ID || cmp.Or(g.Kind, posthouse.GateApproval) != kindOf(s.gate) {
			continue
		}
		d := s.decided[g.ID]
		if to, ok := s.line[branchOf(g)]; branchOf(g) == s.gate.Branch || ok && d.seq > 0 && d.seq <= to {
			continue // its answer led here; one that waited when the branches parted is asked by both
		}
		if d.seq == 0 || d.verdict.IsYes() || d.verdict == posthouse.Respond {
			s.found = append(s.found, g)
		}
	}
}

// branchOf returns the branch of a gate by its header, where that of main is empty.
func branchOf(g *posthouse.GateInfo) string { return cmp.Or(g.Branch, posthouse.MainBranch) }

// result leaves out the questions of a branch that asked from the gate's own step, too, by another one.
func (s *duplicateSearch) result() (ids []posthouse.ID) {
	same := func(g *posthouse.GateInfo) bool { return g.Task == s.gate.Task && g.Occurrence == s.gate.Occurrence }
	for _, g := range s.found {
		if same(g) || !slices.ContainsFunc(s.found, func(o *posthouse.GateInfo) bool { return o.Branch == g.Branch && same(o) }) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}
