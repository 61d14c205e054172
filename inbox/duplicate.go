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

// Bounds of [Duplicates]: how many it returns, and how many entries of the thread's own log it reads for
// them: of one that has several branches, and of one that only may have been forked or copied elsewhere.
const (
	maxDuplicates    = 20
	maxDuplicateLook = 20_000
	maxAloneLook     = 2_000
)

// A Duplicate is a question that asks the same as another one of its thread on another branch, or of a thread
// that was forked or copied from it. An approval of each has its effect done twice.
type Duplicate struct {
	Gate    posthouse.ID      `json:"gate"`
	Thread  string            `json:"thread,omitempty" doc:"that asks, if it is another thread"`
	Branch  string            `json:"branch"`
	Seq     uint64            `json:"seq" doc:"of the entry that asks"`
	Intent  string            `json:"intent" doc:"what it asks, in one line"`
	State   State             `json:"state" doc:"open, or decided by a person with yes or an answer"`
	Status  grants.Status     `json:"status" doc:"how far its effects have come: proposed, decided, released, executed or unknown"`
	Verdict posthouse.Verdict `json:"verdict,omitempty"`
	By      string            `json:"by,omitempty" doc:"who decided"`
	At      time.Time         `json:"at,omitzero" doc:"when it was decided"`
}

// Duplicates returns the questions on other branches of an open gate's thread that ask the same, and those in
// threads that are forks or copies of it, or of the same one as it: they have its name, and wait too, or got a
// yes or an answer after the branches had parted. Where a branch asked from the same step, its other questions
// of the name do not count. Those of its own thread come first, each thread's newest first, at most 20. It
// reads the newest 20,000 entries of the thread, and 2,000 of each of at most 8 others.
//
// Forks and copies are found by the newest 12 runs of their sources. Those of checkpoints that were saved by hand,
// which have no run, are found by a coordination, a label, a node or an agent of the source, and without such among
// the threads of the 100 newest open gates and the 100 threads with the newest entries.
//
// A gate that waits for no person, or no longer waits, has no duplicates.
func Duplicates(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) ([]Duplicate, error) {
	if g.Decision != nil || !forPeople(g.Kind) {
		return nil, nil
	}
	h, err := l.GetHeader(ctx, g.Checkpoint)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &family{ctx: ctx, l: l, gate: g, seen: map[string]bool{}}
	if err := f.visit(relative{thread: g.Thread, at: h}); err != nil {
		return nil, err
	}
	if err := f.others(); err != nil {
		return nil, err
	}
	var all []Duplicate
	for _, id := range f.found {
		d, err := duplicate(ctx, l, id)
		if gone(err) || unread(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if d.Thread == g.Thread {
			d.Thread = ""
		}
		all = append(all, *d)
		if len(all) == maxDuplicates {
			break
		}
	}
	return all, nil
}

// duplicate returns nil for an answer that a fork or a copy has of its source.
func duplicate(ctx context.Context, l *ledger.Ledger, id posthouse.ID) (*Duplicate, error) {
	grant, err := ledger.ReadGrant(ctx, l, id)
	if err != nil {
		return nil, err
	}
	g := grant.Gate
	if g.Origin != "" && g.Decision != nil {
		return nil, nil // a copy of an answer licenses nothing
	}
	d := &Duplicate{Gate: g.ID, Thread: g.Thread, Branch: g.Branch, Seq: g.Seq, Intent: gate.Intent(g), State: StateOf(g), Status: grant.Status}
	if g.Decision != nil {
		d.Verdict, d.By, d.At = g.Decision.Verdict, g.Decision.By, g.Decision.At
	}
	return d, nil
}

// A duplicateSearch reads a log from its end.
type duplicateSearch struct {
	gate    *posthouse.Gate
	own     bool              // the log is that of the gate's thread
	line    map[string]uint64 // the branches that led to the gate, each up to the entry where the next one left it
	next    uint64            // the entry of the next checkpoint on the way to the gate; 0: no more
	decided map[posthouse.ID]decidedAt
	found   []*posthouse.GateInfo

	source *posthouse.Source // that the way to the gate began at, in another thread
	ways   []way             // to what was made of its checkpoints, those of the newest first
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
		case rec.Checkpoint != nil:
			s.checkpoint(e.Seq, rec.Checkpoint)
		}
	}
	for i := range e.Records {
		g := e.Records[i].Gate
		if g == nil || g.Name != s.gate.Name || g.ID == s.gate.ID || cmp.Or(g.Kind, posthouse.GateApproval) != kindOf(s.gate) {
			continue
		}
		d := s.decided[g.ID]
		if to, ok := s.line[branchOf(g)]; s.own && branchOf(g) == s.gate.Branch || ok && d.seq > 0 && d.seq <= to {
			continue // its answer led here; one that waited when the branches parted is asked by both
		}
		if d.seq == 0 || d.verdict.IsYes() || d.verdict == posthouse.Respond {
			s.found = append(s.found, g)
		}
	}
}

func (s *duplicateSearch) checkpoint(seq uint64, h *posthouse.Header) {
	for _, w := range waysTo(h) {
		if len(s.ways) < maxWays && !slices.Contains(s.ways, w) {
			s.ways = append(s.ways, w)
		}
	}
	if seq != s.next {
		return
	}
	if _, ok := s.line[h.Branch]; !ok {
		s.line[h.Branch] = seq
	}
	s.next = h.ParentSeq
	if h.Source != nil && h.Source.Thread != h.Thread && s.source == nil {
		s.source = h.Source
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
