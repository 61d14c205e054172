package posthouse

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// An Execution is what is on record of one execution of a node or handler:
// results that need not be computed again and questions that were put.
type Execution struct {
	Steps []StepRecord // in the order they were recorded
	Gates []*Gate      // in the order they were opened, with their decisions

	// Edited is the entry of the newest checkpoint in the middle of the execution by
	// which somebody changed its state or its program: an update, a fork, a migration;
	// 0 if there is none. Questions asked before it may rightly differ behind it.
	Edited uint64

	before map[ID]int // for StepsBefore
}

// StepsBefore returns how many of Steps were on record when one of Gates was
// opened. A question that a fork put again has the place of the one it was forked
// from.
func (x *Execution) StepsBefore(gate ID) int { return min(x.before[gate], len(x.Steps)) }

// A StepRecord is a recorded step result.
type StepRecord struct {
	Step
	Seq uint64
	At  time.Time
}

// Execution returns what is on record of a task on the branch of head, the
// branch's newest checkpoint: what was recorded since the execution began, on
// this branch or, before the fork, on the one it comes from. What another
// branch recorded after the fork is not seen.
func (l *Core) Execution(ctx context.Context, head *Header, task string) (*Execution, error) {
	all, err := l.executions(ctx, head, func(t string) bool { return t == task })
	if x := all[task]; x != nil || err != nil {
		return x, err
	}
	return &Execution{}, nil
}

// Executions returns what [Ledger.Execution] does for every task that has
// anything on record, by task, in one read of the log.
func (l *Core) Executions(ctx context.Context, head *Header) (map[string]*Execution, error) {
	return l.executions(ctx, head, func(string) bool { return true })
}

func (l *Core) executions(ctx context.Context, head *Header, want func(task string) bool) (map[string]*Execution, error) {
	r := l.reader(ctx, head.Thread)
	line, err := r.lineage(head)
	if err != nil {
		return nil, err
	}
	g := gathering{line: line, want: want, tasks: map[string]*Execution{}, gates: map[ID]*Gate{}, lost: absent{}}
	for e, err := range l.inOrder(ctx, head.Thread, Range{From: line[len(line)-1].from}) {
		if err != nil {
			return nil, err
		}
		recs, err := l.opened(ctx, e)
		if err != nil {
			return nil, err
		}
		for i := range recs {
			if err := g.record(e, i, &recs[i]); err != nil {
				return nil, err
			}
		}
		if line.asksAnew(e, recs) {
			g.withdraw()
		}
		g.edits(e, recs)
	}
	if err := r.account(g.lost); err != nil {
		return nil, err
	}
	for _, x := range g.tasks {
		x.Edited = g.edited
	}
	return g.tasks, l.remember(ctx, head, g.recents)
}

// A gathering collects executions from the entries of a log.
type gathering struct {
	line    lineage
	want    func(task string) bool
	tasks   map[string]*Execution
	gates   map[ID]*Gate
	lost    absent
	recents []recent
	edited  uint64
}

// edits notes a change of the state or the program in the middle of the step, and
// takes out what one that begins the step anew leaves behind.
func (g *gathering) edits(e *Entry, recs []Record) {
	for i := range recs {
		c := recs[i].Checkpoint
		if c == nil || !g.line.sees(c.Branch, e.Seq) {
			continue
		}
		switch c.Kind {
		case KindUpdate, KindFork, KindMigrate:
			g.edited = e.Seq
		case KindAnew:
			g.edited = e.Seq
			for _, x := range g.tasks {
				x.anew()
			}
		}
	}
}

// anew takes out what an execution that is taken anew does not know, unless it
// completed: results but those of effects on the world, whose order does not count
// any more, and its waits. Threads that it called are taken up again.
func (x *Execution) anew() {
	if x.completed() {
		return
	}
	x.Steps = slices.DeleteFunc(x.Steps, func(s StepRecord) bool { return !s.survives() })
	for i := range x.Steps {
		x.Steps[i].Loose = true
	}
	x.Gates = slices.DeleteFunc(x.Gates, func(q *Gate) bool { return !q.AsksPeople() && q.Kind != GateThread })
}

// Records of the models that a step that is taken anew keeps; docs/format.md has
// their names.
const (
	recordDone    = "$done"         // the execution completed
	recordChild   = "$child"        // where a called thread stands
	recordRequest = "coord:request" // what a coordinator was asked for
)

// completed reports whether the execution ended, beside others that did not.
func (x *Execution) completed() bool {
	return slices.ContainsFunc(x.Steps, func(s StepRecord) bool { return s.Name == recordDone })
}

// survives reports whether a result stays where its step is taken anew.
func (s *StepRecord) survives() bool {
	switch {
	case s.Effect == EffectExternal, s.Effect == EffectHuman, s.Grant != "":
		return true
	}
	return s.Name == recordChild || s.Name == recordRequest
}

func (g *gathering) task(name string) *Execution {
	x := g.tasks[name]
	if x == nil {
		x = &Execution{}
		g.tasks[name] = x
	}
	return x
}

func (g *gathering) record(e *Entry, i int, rec *Record) (err error) {
	switch {
	case rec.Step != nil && g.want(rec.Step.Task) && g.line.sees(rec.Step.Branch, e.Seq):
		if g.lost.note(e, i, rec) {
			return nil
		}
		s := stepRecord(e, rec, e.Bodies[i])
		x := g.task(s.Task)
		x.Steps = append(x.Steps, s)
		if len(s.Value.Data) >= minRef {
			g.recents = append(g.recents, recent{e.Seq, i, s.Value.Data})
		}
	case rec.Gate != nil && g.want(rec.Gate.Task) && g.line.sees(rec.Gate.Branch, e.Seq):
		if g.lost.note(e, i, rec) {
			return nil
		}
		q, err := readGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.gates[q.ID] = q
		x := g.task(rec.Gate.Task)
		x.open(q, len(x.Steps)-q.followed)
	case rec.Vote != nil, rec.Assignment != nil:
		gate, _, _, _ := rec.trail()
		if q := g.gates[gate]; q != nil && g.line.sees(q.Branch, e.Seq) {
			err = q.took(e, rec, e.Bodies[i], false)
		}
	case rec.Decision != nil:
		if q := g.gates[rec.Decision.Gate]; q != nil && g.line.sees(q.Branch, e.Seq) {
			q.Decision, err = readDecisionBody(e, rec, e.Bodies[i])
		}
	}
	return err
}

// withdraw forgets the gates that are unanswered so far, but for what people were
// asked and nobody answered: what asks in their place names them.
func (g *gathering) withdraw() {
	gone := func(q *Gate) bool { return q.unanswered() && !(q.AsksPeople() && q.Withdrawn()) }
	maps.DeleteFunc(g.gates, func(_ ID, q *Gate) bool { return gone(q) })
	for _, x := range g.tasks {
		x.Gates = slices.DeleteFunc(x.Gates, gone)
	}
}

// absent is bodies that were looked for and are not there. A record whose body
// went with a deleted checkpoint is as if it had never been; one whose body was
// lost is damage, and must not pass for one that never was.
type absent map[BodyRef]bool

func (a absent) note(e *Entry, i int, r *Record) bool {
	if r.Size == 0 || len(e.Bodies[i]) > 0 {
		return false
	}
	a[BodyRef{e.Seq, i}] = true
	return true
}

// account returns an [ErrCorrupt] unless removal records list all that is absent.
func (r *logReader) account(a absent) error {
	if len(a) == 0 {
		return nil
	}
	var removals []uint64
	for e, err := range r.l.store.Read(r.ctx, r.thread, Range{Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		for i := range recs {
			if recs[i].Removal != nil {
				removals = append(removals, e.Seq)
			}
		}
	}
	for _, seq := range removals {
		list, err := r.removedList(seq)
		if err != nil {
			return err
		}
		for _, b := range list.Bodies {
			delete(a, b)
		}
	}
	for b := range a {
		return corrupt("the body of record %d of entry %d of thread %q is gone, and no removal lists it", b.Record, b.Seq, r.thread)
	}
	return nil
}

// open adds a gate that was opened behind so many steps. A question that a fork
// put again takes the place of the one it was forked from.
func (x *Execution) open(g *Gate, before int) {
	if x.before == nil {
		x.before = map[ID]int{}
	}
	for i, old := range x.Gates {
		if old.Name == g.Name && old.Occurrence == g.Occurrence && old.Decision == nil && (!g.AsksPeople() || old.Content() == g.Content()) {
			x.Gates[i], x.before[g.ID] = g, x.before[old.ID]
			return
		}
	}
	x.Gates, x.before[g.ID] = append(x.Gates, g), max(before, 0)
}

// asksAnew reports whether an entry holds an update in the middle of a step:
// behind it an execution does not know a gate that is [Gate.unanswered].
func (l lineage) asksAnew(e *Entry, recs []Record) bool {
	return slices.ContainsFunc(recs, func(r Record) bool {
		return r.Checkpoint != nil && r.Checkpoint.Kind == KindUpdate && l.sees(r.Checkpoint.Branch, e.Seq)
	})
}

// beginsAnew reports whether an entry holds a checkpoint of kind anew.
func (l lineage) beginsAnew(e *Entry, recs []Record) bool {
	return slices.ContainsFunc(recs, func(r Record) bool {
		return r.Checkpoint != nil && r.Checkpoint.Kind == KindAnew && l.sees(r.Checkpoint.Branch, e.Seq)
	})
}

// unanswered reports whether nobody decided a gate, but perhaps a checkpoint
// that left it behind.
func (g *Gate) unanswered() bool {
	return g.Decision == nil || g.Decision.Verdict == Cancel && g.Decision.By == byLedger
}

// remember lets the next checkpoint refer to results recorded before a restart.
func (l *Core) remember(ctx context.Context, h *Header, rs []recent) error {
	if len(rs) == 0 {
		return nil
	}
	t, err := l.lock(h.Thread)
	if err != nil {
		return err
	}
	defer l.unlock(t)
	if err := l.load(ctx, t); err != nil {
		return err
	}
	hd, err := l.headOf(ctx, t, h.Branch)
	if err == nil && hd != nil && hd.ID == h.ID && len(hd.recent) == 0 {
		rs = newest(rs)
		for i := range rs {
			rs[i].data = bytes.Clone(rs[i].data) // the caller has these bytes
		}
		hd.record(rs...)
	}
	return err
}

// A lineage is the stretches of log that a branch's unfinished executions may
// draw from, the newest first.
type lineage []stretch

type stretch struct {
	branch   string
	from, to uint64
}

func (l lineage) sees(branch string, seq uint64) bool {
	for _, s := range l {
		if s.branch == branch && seq >= s.from && seq <= s.to {
			return true
		}
	}
	return false
}

// lineage walks from head up to the checkpoint that the execution began at: the
// first that counts as a step. Waits, failures, forks and updates in the middle
// of a step keep the count.
func (r *logReader) lineage(head *Header) (lineage, error) {
	line := lineage{{head.Branch, head.Seq, ^uint64(0)}}
	h := head
	for h.ParentSeq != 0 && (stepOf(h.Kind) == 0 || h.Kind == KindUpdate) {
		parent, err := r.header(h.ParentSeq)
		if err != nil {
			return nil, err
		}
		if !goesOn(h, parent) {
			return line, nil
		}
		h = parent
		if last := &line[len(line)-1]; last.branch == h.Branch {
			last.from = h.Seq
		} else {
			line = append(line, stretch{h.Branch, h.Seq, h.Seq}) // up to the fork, not beyond
		}
	}
	if h.ParentSeq != 0 || stepOf(h.Kind) != 0 || h.Seq == 1 {
		return line, nil
	}
	var err error
	line[len(line)-1].from, err = r.begin(h)
	return line, err
}

// begin returns where the execution began that a root is in the middle of:
// behind the checkpoint that its branch had before, or with the log.
func (r *logReader) begin(root *Header) (from uint64, err error) {
	from = root.Seq
	for e, err := range r.l.inOrder(r.ctx, r.thread, Range{To: root.Seq - 1, Reverse: true, Headers: true}) {
		if err != nil {
			return 0, err
		}
		recs, err := e.check()
		if err != nil {
			return 0, err
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil && c.Branch == root.Branch || recs[i].Removal != nil && recs[i].Removal.Whole || recs[i].Release != nil {
				return from, nil
			}
		}
		from = e.Seq
	}
	return from, nil
}

func stepRecord(e *Entry, r *Record, body []byte) StepRecord {
	return StepRecord{
		Step: Step{
			Task: r.Step.Task, Name: r.Step.Name, Occurrence: r.Step.Occurrence, Effect: r.Step.Effect, Grant: r.Step.Grant,
			Value: Value{r.Step.Codec, body}, Loose: r.Step.Loose,
		},
		Seq: e.Seq, At: e.Time(),
	}
}

func readGateBody(e *Entry, r *Record, body []byte) (*Gate, error) {
	g := &Gate{}
	b := gateBody{Gate: g}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, corrupt("gate %s at entry %d of thread %q does not decode: %v", r.Gate.ID, e.Seq, e.Thread, err)
	}
	g.ID, g.Thread, g.Branch, g.Seq, g.Hash, g.Decision = r.Gate.ID, e.Thread, r.Gate.Branch, e.Seq, e.Hash, nil
	g.Votes, g.Assignments, g.followed, g.salt = nil, nil, b.Followed, b.Salt
	if r.Gate.Content != g.digest() {
		return nil, corrupt("gate %s at entry %d of thread %q does not show what its header has the digest of", r.Gate.ID, e.Seq, e.Thread)
	}
	return g, nil
}

func readDecisionBody(e *Entry, r *Record, body []byte) (*Decision, error) {
	d := &Decision{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, corrupt("the decision of gate %s at entry %d of thread %q does not decode: %v", r.Decision.Gate, e.Seq, e.Thread, err)
	}
	return d, nil
}
