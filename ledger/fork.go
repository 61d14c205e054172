package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/requesters"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// ForkOptions say where a fork goes and what it changes. Nil means a new branch of the
// same thread with the same state.
type ForkOptions struct {
	Thread string       // a new thread; "": a branch of the source's thread
	Branch string       // the new branch's name; "": fork-1, fork-2, ...; not with Thread
	ID     posthouse.ID // of the fork's first checkpoint; "": a new one

	Replace posthouse.State // the whole new state
	Patch   posthouse.State // or new values of these parts, which the source's state has
	Merge   posthouse.State // or JSON objects to merge into these parts, key by key

	// Parts are names that Patch may give beside those of the source's state: parts that
	// the program knows, and the source was made without. A source without any state may be
	// patched with any.
	Parts []string

	// Gates are opened at the fork, which then waits. They replace those that were
	// opened by hand at the source: the program does not know what those should ask
	// about another state. They belong to no task.
	Gates []posthouse.Gate

	// KeepNext keeps the next nodes that the source chose, if the fork has another state. Otherwise
	// a graph's routes and maps choose again from that state when the fork is resumed.
	KeepNext bool

	Metadata map[string]string // nil: the source's
	Labels   map[string]string // nil: the source's
	By       string
	Claim    *Claim // of a run that forks its own thread and continues there; not with Thread

	again *repeatedQuestion // that the fork is made for
}

// Fork begins a branch, or a thread, at any checkpoint. It returns the first
// checkpoint, which names its Source. The source does not change.
//
// The fork inherits what the unfinished execution had on record before it. Gates that
// were open there open again under new ids; those that ask people, and tasks, get a fresh deadline.
// A fork of a checkpoint that could run does not run until it is resumed.
//
// As a step that failed is tried again, a task that failed for good is handed out again, under a new
// id and with the input of the fork's state: its worker gave it up, no attempt was left, or its deadline
// passed. The fork does not inherit that, unless the program did something after it. Outputs of
// tasks and decisions of people count as before, and so does what a task's handler recorded.
//
// A fork in the middle of an effect under a grant is interrupted, too: the decision licenses
// the effect on its own branch, and the program proposes it again when the fork is resumed.
//
// A fork with another state never opens the source's questions and tasks: it is
// interrupted, and its program asks again when it is resumed. Timers beside them then start
// over with their whole time. Gates that were opened by hand are dropped unless o.Gates
// replaces them. A fork of a released checkpoint continues that version.
//
// [posthouse.ErrNotFound] for the checkpoint, [posthouse.ErrExists] if the branch, the
// thread or the id exists, [posthouse.ErrInvalid] for a patch of a part that the state does
// not have, which names those that it has, and the errors of [Ledger.Commit]. While a run has the
// thread, Fork waits up to 10 seconds for it to park or end: only then it is [posthouse.ErrBusy].
func (l *Ledger) Fork(ctx context.Context, id posthouse.ID, o *ForkOptions) (*posthouse.Checkpoint, error) {
	if o == nil {
		o = &ForkOptions{}
	}
	c, err := l.core.ReadCheckpoint(ctx, id)
	if err != nil {
		return nil, err
	}
	info, err := l.core.Logs.Summary(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	p, err := forkDraft(ctx, l.core.Core, c, o, c.Seq < info.First)
	if err != nil {
		return nil, err
	}
	if o.again != nil {
		o.again.explain(p)
	}
	if o.Thread != "" {
		if err := l.inheritNamed(ctx, p, c, info); err != nil {
			return nil, err
		}
		p.Checkpoint.Requesters, err = l.importers(ctx, c, info)
		if err != nil {
			return nil, err
		}
	}
	h, err := l.commitFork(ctx, p)
	if err != nil {
		return nil, err
	}
	l.core.Observe.Checkpoint(posthouse.OpForked, h)
	l.core.EnforceCap(ctx)
	f := &posthouse.Checkpoint{Header: *h, State: p.Checkpoint.State, Metadata: c.Metadata, Program: c.Program}
	if o.keepsNext(c, p.Checkpoint.State) {
		part := threadlog.KeepNext(c.ID)
		f.Program = maps.Clone(f.Program)
		if f.Program == nil {
			f.Program = posthouse.State{}
		}
		f.Program[part.Name] = posthouse.Value{Codec: part.Codec, Data: part.Data}
	}
	if o.Thread != "" {
		delete(f.Program, posthouse.SignalsPart)
	}
	if o.Metadata != nil {
		f.Metadata = o.Metadata
	}
	return f.Clone(), nil
}

// importers returns who imported a thread without verification after the checkpoint was made.
// The heads of its branches name them, and its past vouches for nothing either.
func (l *Ledger) importers(ctx context.Context, c *posthouse.Checkpoint, info *posthouse.ThreadInfo) (list []posthouse.Requester, err error) {
	b, ok := info.Branch(c.Branch)
	if !ok || b.Head == c.ID {
		return nil, nil
	}
	head, err := l.core.ReadCheckpoint(ctx, b.Head)
	if err != nil {
		return nil, err
	}
	list, err = requesters.Read(head.Program)
	return slices.DeleteFunc(list, func(r posthouse.Requester) bool { return r.How != posthouse.RequestedByImport }), err
}

// commitFork commits, and finds a free branch name if the caller gave no name.
func (l *Ledger) commitFork(ctx context.Context, p *commit.Plan) (*posthouse.Header, error) {
	none := posthouse.ID("")
	p.Head = &none
	named := p.Branch != ""
	for try := 0; ; try++ {
		if !named {
			info, err := l.core.Logs.Summary(ctx, p.Thread)
			if err != nil {
				return nil, err
			}
			p.Branch = freeBranch(info)
		}
		made, err := commitWhenFree(ctx, l.core, p)
		var e *posthouse.Error
		switch {
		case !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Head == "":
			return made.Header(), err
		case named:
			return nil, &posthouse.Error{
				Code: posthouse.CodeExists, Head: e.Head, Message: "branch " + p.Branch + " of thread " + p.Thread + " exists",
				Hint: "choose another name",
			}
		case try == core.MaxRetries:
			return nil, err
		}
	}
}

// freeBranch returns the first free name of fork-1, fork-2, ...; main for a thread
// without a branch.
func freeBranch(t *posthouse.ThreadInfo) string {
	if len(t.Branches) == 0 {
		return posthouse.MainBranch
	}
	taken := make([]bool, len(t.Branches)+1) // more than there can be
	for i := range t.Branches {
		digits, ok := strings.CutPrefix(t.Branches[i].Branch, "fork-")
		n, err := strconv.Atoi(digits)
		if ok && err == nil && n > 0 && n <= len(taken) && digits == strconv.Itoa(n) {
			taken[n-1] = true
		}
	}
	return "fork-" + strconv.Itoa(slices.Index(taken, false)+1)
}

// forkDraft treats a released checkpoint as another thread's: no reference leads from
// one generation to another.
func forkDraft(ctx context.Context, l *core.Core, c *posthouse.Checkpoint, o *ForkOptions, released bool) (*commit.Plan, error) {
	if o.Thread == c.Thread {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExists, Message: "thread " + o.Thread + " exists: it is the one to be forked",
			Hint: "name another thread, or none for a branch of this one",
		}
	}
	away := o.Thread != ""
	if away && o.Claim != nil {
		return nil, posthouse.Invalid("claim", "is of the thread that is forked, not of the one that the fork begins")
	}
	if away && o.Branch != "" && o.Branch != posthouse.MainBranch {
		return nil, posthouse.Invalid("branch", "cannot be named for a fork into a new thread: it begins with main")
	}
	p := &commit.Plan{Thread: c.Thread, Branch: o.Branch, Claim: o.Claim.held(), Step: c.Step, Checkpoint: &posthouse.Change{
		ID: o.ID, Parent: c.ID, Kind: posthouse.KindFork, Status: c.Status, Coordination: c.Coordination,
		Run: c.Run, Graph: c.Graph, Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: o.By, Error: c.Error,
		Next: c.Next, Labels: c.Labels, Source: &posthouse.Source{Thread: c.Thread, ID: c.ID}, Metadata: o.Metadata,
	}}
	if o.Labels != nil {
		p.Checkpoint.Labels = o.Labels
	}
	if c.Status.Runnable() || c.Status == posthouse.StatusFailed {
		p.Checkpoint.Status = posthouse.StatusInterrupted
	}
	state, err := o.state(c)
	if err != nil {
		return nil, err
	}
	p.Checkpoint.State, p.Recorded = state, c.State
	p.Read = maps.Clone(c.State)
	if p.Read == nil {
		p.Read = posthouse.State{}
	}
	maps.Copy(p.Read, c.Program)
	for i := range o.Gates {
		if g := &o.Gates[i]; g.Task != "" {
			return nil, posthouse.Invalid("gates", "opened at a fork belong to no task, and %.40q is one of %.40q: its program asks by itself", g.Name, g.Task)
		}
	}
	p.Gates = slices.Clone(o.Gates)
	if len(p.Gates) > 0 {
		p.Checkpoint.Status = posthouse.StatusWaiting
	}
	changed := differs(state, c.State)
	if away {
		if c.Coordination == c.Thread {
			p.Checkpoint.Coordination = ""
		}
		p.Thread, p.Branch = o.Thread, posthouse.MainBranch
	}
	if away || released {
		if p.Checkpoint.Metadata == nil {
			p.Checkpoint.Metadata = maps.Clone(c.Metadata)
		}
		p.Checkpoint.Parent, p.Checkpoint.Root, p.Read = "", true, nil
		for _, name := range slices.Sorted(maps.Keys(c.Program)) {
			if name == posthouse.SignalsPart {
				continue // they are entries of this thread
			}
			v := c.Program[name]
			p.Checkpoint.Program = append(p.Checkpoint.Program, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
		}
	}
	if o.keepsNext(c, state) {
		keep := threadlog.KeepNext(c.ID)
		p.Checkpoint.Program = append(slices.DeleteFunc(p.Checkpoint.Program, func(old posthouse.Part) bool { return old.Name == keep.Name }), keep)
	}
	return p, inherit(ctx, l, p, c, changed)
}

// keepsNext reports whether a fork with a state puts on record that it keeps its next nodes.
func (o *ForkOptions) keepsNext(c *posthouse.Checkpoint, state posthouse.State) bool {
	return o.KeepNext && len(c.Next) > 0 && differs(state, c.State)
}

func differs(a, b posthouse.State) bool {
	return !maps.EqualFunc(a, b, func(x, y posthouse.Value) bool { return x.Codec == y.Codec && bytes.Equal(x.Data, y.Data) })
}

func (o *ForkOptions) state(c *posthouse.Checkpoint) (posthouse.State, error) {
	if o.Replace != nil {
		if o.Patch != nil || o.Merge != nil {
			return nil, posthouse.Invalid("state", "is replaced and patched at once")
		}
		return o.Replace, nil
	}
	if err := cmp.Or(o.checkPatch(c.State, o.Patch), o.checkPatch(c.State, o.Merge)); err != nil {
		return nil, err
	}
	s := maps.Clone(c.State) // its values stay as they are
	if s == nil {
		s = posthouse.State{}
	}
	for name, v := range o.Patch {
		s[name] = v
	}
	for name, v := range o.Merge {
		if err := v.Validate(name); err != nil { // merging would choose one of two
			return nil, err
		}
		old, ok := s[name]
		if !ok {
			s[name] = v
			continue
		}
		var a, b map[string]json.RawMessage
		if old.Codec != "json" || v.Codec != "json" || json.Unmarshal(old.Data, &a) != nil || json.Unmarshal(v.Data, &b) != nil || a == nil {
			return nil, posthouse.Invalid("merge", "part %q is not a JSON object on both sides; patch it instead", name)
		}
		maps.Copy(a, b)
		data, err := json.Marshal(a)
		if err != nil {
			return nil, posthouse.Invalid("merge", "part %q does not encode: %v", name, err)
		}
		s[name] = posthouse.Value{Codec: "json", Data: data}
	}
	return s, nil
}

// checkPatch returns the error of a patch of a part that the state does not have.
func (o *ForkOptions) checkPatch(s, patch posthouse.State) error {
	if len(s) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if _, ok := s[name]; !ok && !slices.Contains(o.Parts, name) {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: name, Message: "is no part of the state; there is " + strings.Join(slices.Sorted(maps.Keys(s)), ", "),
				Hint: "give one of these parts, or the whole new state",
			}
		}
	}
	return nil
}

// inherit adds what the fork inherits from the interrupted execution: the gates open at
// the source. A root also inherits step results and decided gates, which a branch finds
// by its lineage.
func inherit(ctx context.Context, l *core.Core, p *commit.Plan, c *posthouse.Checkpoint, changed bool) error {
	r := l.Logs.Reader(ctx, c.Thread)
	line, err := r.Lineage(&c.Header)
	if err != nil {
		return err
	}
	line[0].To = c.Seq
	in := forkCollector{
		draft: p, line: line, steps: map[string]int{}, calls: map[string][]posthouse.StepRecord{}, lost: threadlog.MissingBodies{}, uses: map[string]bool{},
	}
	for e, err := range l.Logs.InOrder(ctx, c.Thread, posthouse.Range{From: line[len(line)-1].From, To: c.Seq}) {
		if err != nil {
			return err
		}
		recs, err := l.Vault.OpenEntry(ctx, e)
		if err != nil {
			return err
		}
		for i := range recs {
			if err := in.record(e, i, recs); err != nil {
				return err
			}
		}
		if line.AsksAgain(e, recs) {
			in.gates = threadlog.WithoutGates(in.gates, (*posthouse.Gate).Unanswered)
		}
		if line.RestartsStep(e, recs) {
			in.anew()
		}
	}
	if err := r.Account(in.lost); err != nil {
		return err
	}
	in.now, in.changed = l.Now(), changed
	in.leaveFailedTasks()
	in.putGates(c.Status == posthouse.StatusWaiting)
	return nil
}

type forkCollector struct {
	draft *commit.Plan
	line  threadlog.Lineage
	steps map[string]int                    // results, by task
	calls map[string][]posthouse.StepRecord // records of steps without their values, by task
	gates []*posthouse.Gate                 // until all are known, followed is minus the number of earlier ones
	lost  threadlog.MissingBodies
	uses  map[string]bool // tasks and names of steps that began to act under a grant

	now     time.Time
	changed bool // the fork's state is not the source's
}

func (in *forkCollector) record(e *posthouse.Entry, i int, recs []posthouse.Record) (err error) {
	rec := &recs[i]
	if s := rec.Step; s != nil && in.line.Sees(s.Branch, e.Seq) {
		if threadlog.IsTaskAgain(s) {
			in.gates = threadlog.WithoutTask(in.gates, s)
			return nil
		}
		in.calls[s.Task] = append(in.calls[s.Task], posthouse.StepRecord{
			Step: posthouse.Step{Task: s.Task, Name: s.Name, Occurrence: s.Occurrence, Grant: s.Grant, Value: posthouse.Value{Codec: s.Codec}}, Seq: e.Seq,
		})
		if use, ok := strings.CutSuffix(s.Name, handler.Nested+effect.RecordBegins); ok {
			in.uses[s.Task+"\x00"+use] = true
		}
	}
	switch {
	case rec.Step != nil && in.draft.Checkpoint.Root && in.line.Sees(rec.Step.Branch, e.Seq):
		if in.lost.Note(e, i, rec) {
			return nil
		}
		s, err := threadlog.ReadStep(e, recs, i)
		if err != nil {
			return err
		}
		in.draft.Steps = append(in.draft.Steps, s.Step)
		in.steps[rec.Step.Task]++
	case rec.Gate != nil && in.line.Sees(rec.Gate.Branch, e.Seq):
		if in.lost.Note(e, i, rec) {
			return nil
		}
		g, err := posthouse.ReadGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.Record.Followed -= in.steps[rec.Gate.Task]
		in.gates = append(in.gates, g)
	case rec.Decision != nil:
		for _, g := range in.gates {
			if g.ID == rec.Decision.Gate && in.line.Sees(g.Branch, e.Seq) {
				g.Decision, err = threadlog.ReadDecisionBody(e, rec, e.Bodies[i])
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// anew removes the records that a restarted step does not know.
func (in *forkCollector) anew() {
	tasks := map[string]*threadlog.Execution{}
	task := func(name string) *threadlog.Execution {
		if tasks[name] == nil {
			tasks[name] = &threadlog.Execution{}
		}
		return tasks[name]
	}
	for _, s := range in.draft.Steps {
		x := task(s.Task)
		x.Steps = append(x.Steps, posthouse.StepRecord{Step: s})
	}
	for _, g := range in.gates {
		x := task(g.Task)
		x.Gates = append(x.Gates, g)
	}
	in.draft.Steps, in.gates = nil, nil
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		x := tasks[name]
		x.RestartStep()
		in.steps[name] = len(x.Steps)
		for _, s := range x.Steps {
			in.draft.Steps = append(in.draft.Steps, s.Step)
		}
		for _, g := range x.Gates {
			g.Record.Followed = -min(-g.Record.Followed, len(x.Steps))
		}
		in.gates = append(in.gates, x.Gates...)
	}
}

// leaveFailedTasks leaves out the tasks that failed for good and that the program did nothing after:
// as a step that failed, they are tried again. One under a grant stays, since the fork asks for its effect again.
func (in *forkCollector) leaveFailedTasks() {
	tasks := map[string]*threadlog.Execution{}
	for _, g := range in.gates {
		if tasks[g.Task] == nil {
			tasks[g.Task] = &threadlog.Execution{Steps: in.calls[g.Task]}
		}
		tasks[g.Task].Gates = append(tasks[g.Task].Gates, g)
	}
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		x := tasks[name]
		for _, g := range x.FailedTasks() {
			if g.Call.Grant == "" && !in.isWithinUse(g) {
				in.draft.Again = append(in.draft.Again, g)
			}
		}
	}
	in.gates = threadlog.WithoutGates(in.gates, func(g *posthouse.Gate) bool { return slices.Contains(in.draft.Again, g) })
}

// putGates adds the gates to the plan: open ones if the source waits, and decided ones.
// Of another state it opens no questions to people and no tasks for workers: the branch
// asks when it is resumed.
func (in *forkCollector) putGates(waiting bool) {
	own := len(in.draft.Gates) > 0
	if in.changed && waiting && slices.ContainsFunc(in.gates, isAboutState) {
		waiting = false
		if !own {
			in.draft.Checkpoint.Status = posthouse.StatusInterrupted
		}
	}
	if waiting && (slices.ContainsFunc(in.gates, in.isUse) || slices.ContainsFunc(in.gates, in.hasStarted)) {
		waiting = false
		if !own {
			in.draft.Checkpoint.Status = posthouse.StatusInterrupted
		}
	}
	tasks := map[string]*threadlog.Execution{}
	for _, g := range in.gates {
		x := tasks[g.Task]
		if x == nil {
			x = &threadlog.Execution{}
			tasks[g.Task] = x
		}
		x.Open(g, -g.Record.Followed)
	}
	for _, g := range in.gates {
		x := tasks[g.Task]
		if !slices.Contains(x.Gates, g) {
			continue
		}
		again := *g
		again.Record.Followed, again.Record.Kept = 0, true
		if in.draft.Checkpoint.Root {
			again.Record.Followed = in.steps[g.Task] - x.Before[g.ID]
		}
		switch {
		case g.Decision == nil && waiting && !(own && g.Task == ""):
			again.ID = ""
			renewDeadlines(&again, in.now)
			in.draft.Gates = append(in.draft.Gates, again)
		case g.Decision != nil && in.draft.Checkpoint.Root:
			in.draft.Inherit = append(in.draft.Inherit, &again)
		}
	}
}

// isUse reports whether an open gate is what an effect under a grant waits for. A decision
// licenses the effect on its own branch, so elsewhere the program proposes it again.
func (in *forkCollector) isUse(g *posthouse.Gate) bool {
	return g.Decision == nil && in.isWithinUse(g)
}

func (in *forkCollector) isWithinUse(g *posthouse.Gate) bool {
	for end, part := range g.Name {
		if string(part) == handler.Nested && in.uses[g.Task+"\x00"+g.Name[:end]] {
			return true
		}
	}
	return false
}

// hasStarted reports whether a gate is the wait for the start of a run, and that is past: the fork
// could run.
func (in *forkCollector) hasStarted(g *posthouse.Gate) bool {
	return g.DelaysStart() && !in.now.Before(g.ExpiresAt)
}

// isAboutState reports whether an open gate shows somebody what depends on the state.
func isAboutState(g *posthouse.Gate) bool {
	return g.Decision == nil && (g.AsksPeople() || g.Kind == posthouse.GateTask)
}

// renewDeadlines gives a gate that asks people, and a task, as much time as it had when it opened.
func renewDeadlines(g *posthouse.Gate, now time.Time) {
	if g.Call != nil {
		if !g.ExpiresAt.IsZero() {
			began := g.Call.Began
			if began.IsZero() {
				began = g.CreatedAt
			}
			g.ExpiresAt = now.Add(g.ExpiresAt.Sub(began))
		}
		call := *g.Call
		call.Began = time.Time{} // now
		g.Call = &call
	}
	if !g.AsksPeople() {
		return
	}
	if !g.ExpiresAt.IsZero() {
		g.ExpiresAt = now.Add(g.ExpiresAt.Sub(g.CreatedAt))
	}
	if e := g.Escalation; e != nil {
		again := *e
		again.At = now.Add(e.At.Sub(g.CreatedAt))
		g.Escalation = &again
	}
	g.Remind = deciders.RemindAgain(g, now)
}
