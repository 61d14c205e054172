package retain

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// A Policy says which checkpoints and versions to remove. It never removes branch heads,
// checkpoints with open gates, checkpoints that kept ones are rebuilt from, gates that
// [gate.Act] may still need in a thread that stays ([grants.Approval.Kept]), or anything
// of a thread under legal hold.
type Policy struct {
	MaxAge       time.Duration // remove checkpoints older than this; 0: no limit
	MaxPerThread int           // remove the oldest checkpoints of a thread that has more; 0: no limit

	KeepLast     int               // keep this many of the newest checkpoints of each branch
	KeepBranches []string          // keep the checkpoints of these branches
	KeepLabels   map[string]string // keep checkpoints with one of these labels; "" is any value

	// DropSources also removes checkpoints that forks were made from. Otherwise such a
	// checkpoint, and its version, stay as long as the fork's first checkpoint.
	DropSources bool

	// Finished removes whole threads that ended, with the slots of their tasks, once nothing of
	// them moved for so long, counted in full minutes; 0: never. A thread that is done goes also
	// if it could take another input, whatever KeepLast says. A thread with a failed or interrupted
	// branch stays while an approval of it may still be used. So does a thread that forks or copies
	// in other threads were made from, unless DropSources; that was called by a thread which is
	// still there; that has a checkpoint which the policy keeps by its branch or label; or that has
	// released versions. The thread of a task that was started by itself goes in the same way, with
	// its outcome and its key.
	Finished time.Duration

	// Slots removes, in threads that stay, what handlers saved for tasks that have been complete
	// for longer than this; 0: never. Slots of tasks that failed stay, since they may be retried,
	// and so do those of tasks that wait, are parked, or were cancelled or withdrawn. No record is
	// made of it: slots are not in the log. Stores that are no [posthouse.SlotLister] keep theirs.
	Slots time.Duration

	Released     time.Duration // drop versions released longer ago, see [DropRelease]; 0: never
	KeepVersions int           // keep this many of the newest versions of each thread
	KeepTags     []string      // keep versions with one of these tags

	Prefix       string // only threads with names that begin with it
	Graph        string // only threads of this program
	Coordination string // only threads that have their newest checkpoint in this coordination
}

func (r *Policy) validate() error {
	switch {
	case r.MaxAge < 0:
		return posthouse.Invalid("MaxAge", "is negative")
	case r.MaxPerThread < 0:
		return posthouse.Invalid("MaxPerThread", "is negative")
	case r.KeepLast < 0:
		return posthouse.Invalid("KeepLast", "is negative")
	case r.Released < 0:
		return posthouse.Invalid("Released", "is negative")
	case r.Finished < 0:
		return posthouse.Invalid("Finished", "is negative")
	case r.Slots < 0:
		return posthouse.Invalid("Slots", "is negative")
	case r.KeepVersions < 0:
		return posthouse.Invalid("KeepVersions", "is negative")
	case !r.LetsGo():
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Retention", Message: "lets nothing go", Hint: "set MaxAge, MaxPerThread, Released, Finished or Slots"}
	}
	return nil
}

// LetsGo reports whether the policy lets anything go. [Run] refuses one that does not.
func (r *Policy) LetsGo() bool {
	return r.MaxAge != 0 || r.MaxPerThread != 0 || r.Released != 0 || r.Finished != 0 || r.Slots != 0
}

// String returns the policy in one line, as its removal records have it.
func (r *Policy) String() string {
	var s []string
	if r.MaxAge > 0 {
		s = append(s, "older than "+r.MaxAge.String())
	}
	if r.MaxPerThread > 0 {
		s = append(s, "more than "+strconv.Itoa(r.MaxPerThread)+" a thread")
	}
	if r.Released > 0 {
		s = append(s, "versions released longer ago than "+r.Released.String())
	}
	if r.Finished > 0 {
		s = append(s, "threads finished longer ago than "+r.Finished.String())
	}
	return "retention: " + strings.Join(s, ", ")
}

// Options refine [Run]. Nil is the zero value.
type Options struct {
	DryRun   bool          // count what would be removed, and remove nothing
	By       string        // who removes, on record; default "posthouse"
	Progress func(*Report) // called after each thread
}

// A Report counts what a retention removed, or would remove in a dry run.
type Report struct {
	Threads     int   `json:"threads"`     // threads examined
	Changed     int   `json:"changed"`     // threads from which something was removed
	Checkpoints int   `json:"checkpoints"` // checkpoints removed
	Versions    int   `json:"versions"`    // released versions dropped
	Bodies      int   `json:"bodies"`      // bodies of records removed
	Bytes       int64 `json:"bytes"`       // bytes of those bodies, of dropped entries and of slots
	Kept        int   `json:"kept"`        // bodies that stay, since kept checkpoints are rebuilt from them
	Held        int   `json:"held"`        // threads skipped: under legal hold
	Busy        int   `json:"busy"`        // threads skipped until the next pass: they run
	Finished    int   `json:"finished"`    // threads that ended and were removed as a whole
	Slots       int   `json:"slots"`       // slots of complete tasks removed, in threads that stay
	DryRun      bool  `json:"dryRun,omitempty"`

	FinishedThreads []string `json:"finishedThreads,omitempty"` // their names, the first 1,000
}

// Run applies a policy, thread by thread. It adds a signed removal record before it
// removes a byte. So it can be killed at any point: nothing else is lost, and the next
// pass removes the rest. Observers get an event for each removed checkpoint. The space
// on disk is free once the store is compacted.
//
// Run skips a thread that cannot be read and joins the reason to its error. The report
// is returned with the error, and counts what was done.
func Run(ctx context.Context, led *ledger.Ledger, r Policy, o *Options) (*Report, error) {
	l := led.Core()
	if o == nil {
		o = &Options{}
	}
	p := &pass{ledger: led, l: l, Policy: r, opt: *o, done: Report{DryRun: o.DryRun}}
	if p.opt.By == "" {
		p.opt.By = "posthouse"
	}
	if err := errors.Join(r.validate(), posthouse.CheckPerson("By", p.opt.By)); err != nil {
		return nil, err
	}
	var err error
	p.lineage.forks, err = findSources(ctx, l.Core)
	if err != nil {
		return nil, err
	}
	var failed error
	for info, err := range l.Store.Threads(ctx, posthouse.ThreadQuery{Prefix: r.Prefix, Graph: r.Graph}) {
		if err != nil {
			return &p.done, errors.Join(failed, err)
		}
		if r.Coordination != "" && info.CoordinationName() != r.Coordination {
			continue
		}
		gone, err := p.finished(ctx, info)
		if err == nil && !gone {
			err = p.thread(ctx, info)
		}
		if err == nil && !gone && p.Released > 0 && info.Releases > 0 && info.Hold.Seq == 0 {
			err = p.versions(ctx, info.Thread)
		}
		if !gone {
			err = errors.Join(err, p.taskSlots(ctx, info))
		}
		if ctx.Err() != nil {
			return &p.done, errors.Join(failed, ctx.Err())
		}
		failed = errors.Join(failed, err)
		if p.done.Threads++; p.opt.Progress != nil {
			done := p.done
			p.opt.Progress(&done)
		}
	}
	return &p.done, failed
}

// Every applies a policy at once and then at each interval. It returns nil when ctx ends.
// It logs a pass that fails; the next one repeats the work. It fails at once with
// [posthouse.ErrInvalid] if the policy is not valid or the interval not positive.
func Every(ctx context.Context, led *ledger.Ledger, r Policy, every time.Duration) error {
	l := led.Core()
	if err := r.validate(); err != nil {
		return err
	}
	if every <= 0 {
		return posthouse.Invalid("every", "must be positive")
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := Run(ctx, led, r, nil)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			l.Config.Logger.Error("retention failed", "error", err)
		case done.Checkpoints > 0 || done.Slots > 0:
			l.Config.Logger.Info("retention", "checkpoints", done.Checkpoints, "threads", done.Finished, "slots", done.Slots, "bytes", done.Bytes, "held", done.Held, "busy", done.Busy)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

type pass struct {
	Policy
	ledger  *ledger.Ledger
	l       *commit.Committer // the ledger's
	opt     Options
	lineage lineage
	done    Report
}

type retainPlan struct {
	gone   []*posthouse.Header
	bodies []posthouse.BodyRef // of removed checkpoints, and no longer needed
	kept   int                 // bodies of gone that are still needed
}

func (p *pass) thread(ctx context.Context, info *posthouse.ThreadInfo) error {
	switch {
	case info.Hold.Seq != 0:
		p.done.Held++
		return nil
	case posthouse.IsRuntimeThread(info.Thread), info.Gone() || p.MaxAge == 0 && p.MaxPerThread == 0:
		return nil
	}
	t, err := p.l.Lock(info.Thread)
	if err != nil {
		return err
	}
	defer p.l.Unlock(t)
	t.Invalidate() // another process may have appended
	var plan *retainPlan
	var left []posthouse.BodyRef // bodies that an earlier removal lists and did not remove
	err = p.l.Append(ctx, t, func(tx *core.Tx) error {
		plan, left = nil, nil
		if err := tx.Removable(); err != nil {
			return err
		}
		tree, err := p.l.Logs.Tree(ctx, t.Name, t.Info.First)
		if err != nil {
			return err
		}
		if err := p.l.Logs.KeepApprovals(ctx, tree, t.Info, tx.At, p.lineage.forks.has); err != nil {
			return err
		}
		left, err = unfinished(ctx, p.l.Core, t.Name, tree)
		if err != nil {
			return err
		}
		plan = p.plan(tree, t.Info, tx.At)
		if len(plan.gone) == 0 && len(plan.bodies) == 0 || p.opt.DryRun {
			return core.ErrNothing
		}
		return plan.record(tx, &p.Policy, p.opt.By)
	})
	switch {
	case errors.Is(err, posthouse.ErrForbidden):
		p.done.Held++
		return nil
	case errors.Is(err, posthouse.ErrBusy):
		p.done.Busy++
		return nil
	case err != nil:
		return err
	}
	return p.removeBodies(ctx, t.Name, plan, append(left, plan.bodies...))
}

// plan chooses what to remove, and takes it out of the tree.
func (p *pass) plan(tree *threadlog.Tree, info *posthouse.ThreadInfo, now time.Time) *retainPlan {
	plan := &retainPlan{}
	for _, seq := range p.targets(tree, info, now) {
		n := tree.Nodes[seq]
		tree.Remove(seq)
		plan.gone = append(plan.gone, &n.Header)
	}
	_, plan.bodies = unneeded(tree)
	if len(plan.gone) == 0 {
		return plan
	}
	goes := setOf(plan.bodies)
	for _, h := range plan.gone {
		for _, seq := range tree.Revisions[h.ID] {
			for _, b := range tree.Nodes[seq].Bodies(seq) {
				if !goes[b] && !tree.Listed[b] {
					plan.kept++
				}
			}
		}
	}
	return plan
}

func (p *pass) targets(tree *threadlog.Tree, info *posthouse.ThreadInfo, now time.Time) (seqs []uint64) {
	var kept []uint64 // of this generation, ascending
	for _, seq := range tree.Seqs {
		if n := tree.Nodes[seq]; !n.Removed && n.Header.Generation == info.Generation {
			kept = append(kept, seq)
		}
	}
	newest, last := map[string]int{}, map[uint64]bool{}
	for _, seq := range slices.Backward(kept) {
		h := &tree.Nodes[seq].Header
		if newest[h.Branch]++; newest[h.Branch] <= p.KeepLast {
			last[seq] = true
		}
	}
	surplus := 0
	if p.MaxPerThread > 0 {
		surplus = len(kept) - p.MaxPerThread
	}
	for _, seq := range kept {
		h := &tree.Nodes[seq].Header
		if last[seq] || !p.DropSources && p.lineage.forks.has(h.ID) || core.Protects(info, h) || p.keeps(h) {
			continue
		}
		old := p.MaxAge > 0 && now.Sub(h.CreatedAt) > p.MaxAge
		if old || surplus > 0 {
			seqs = append(seqs, seq)
			surplus--
		}
	}
	return seqs
}

// keeps reports whether the policy names the checkpoint's branch or a label.
func (p *pass) keeps(h *posthouse.Header) bool {
	if slices.Contains(p.KeepBranches, h.Branch) {
		return true
	}
	for k, want := range p.KeepLabels {
		if v, ok := h.Labels[k]; ok && (want == "" || v == want) {
			return true
		}
	}
	return false
}

func (plan *retainPlan) record(tx *core.Tx, r *Policy, by string) error {
	list := posthouse.RemovedList{Bodies: plan.bodies}
	for _, h := range plan.gone {
		list.Checkpoints = append(list.Checkpoints, posthouse.RemovedCheckpoint{ID: h.ID, Seq: h.Seq})
		tx.Drop = append(tx.Drop, h.ID)
	}
	return tx.AddRemoval(&posthouse.RemovalInfo{Reason: r.String(), By: by, Count: len(plan.gone)}, list)
}

func setOf(bodies []posthouse.BodyRef) map[posthouse.BodyRef]bool {
	set := make(map[posthouse.BodyRef]bool, len(bodies))
	for _, b := range bodies {
		set[b] = true
	}
	return set
}

// removeBodies removes the bodies, or only counts them in a dry run.
func (p *pass) removeBodies(ctx context.Context, thread string, plan *retainPlan, bodies []posthouse.BodyRef) error {
	var removed posthouse.Removed
	var err error
	switch {
	case len(bodies) == 0:
	case p.opt.DryRun:
		removed, err = sizeOf(ctx, p.l.Core, thread, bodies)
	default:
		removed, err = p.l.Store.Remove(ctx, posthouse.Removal{Thread: thread, Bodies: bodies})
	}
	p.done.Bodies += removed.Bodies
	p.done.Bytes += removed.Bytes
	p.done.Checkpoints += len(plan.gone)
	p.done.Kept += plan.kept
	if len(plan.gone) > 0 || removed.Bodies > 0 {
		p.done.Changed++
	}
	if !p.opt.DryRun {
		p.l.Cap.Deleted(len(plan.gone))
		for _, h := range plan.gone {
			p.l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpEvicted, At: p.l.Now(), Thread: h.Thread, Coordination: h.Coordination, ID: h.ID})
		}
	}
	return err
}

// sizeOf counts what removing the bodies would remove.
func sizeOf(ctx context.Context, c *core.Core, thread string, bodies []posthouse.BodyRef) (r posthouse.Removed, err error) {
	want := setOf(bodies)
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Headers: true}) {
		if err != nil {
			return r, err
		}
		recs, err := e.Records()
		if err != nil {
			return r, err
		}
		for i := range recs {
			if want[posthouse.BodyRef{Seq: e.Seq, Record: i}] && recs[i].Size > 0 {
				r.Bodies, r.Bytes = r.Bodies+1, r.Bytes+int64(recs[i].Size)
			}
		}
	}
	return r, nil
}

// unfinished returns the bodies that the thread's newest removal lists and that still exist.
// The process was killed before it removed them.
func unfinished(ctx context.Context, c *core.Core, thread string, t *threadlog.Tree) (left []posthouse.BodyRef, err error) {
	if t.Removal == 0 {
		return nil, nil
	}
	list, err := c.Logs.Reader(ctx, thread).RemovedList(t.Removal)
	if err != nil || len(list.Bodies) == 0 {
		return nil, err
	}
	var seqs []uint64
	for _, b := range list.Bodies {
		seqs = append(seqs, b.Seq)
	}
	slices.Sort(seqs)
	listed := setOf(list.Bodies)
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: slices.Compact(seqs)}) {
		if err != nil {
			return nil, err
		}
		for i, body := range e.Bodies {
			if b := (posthouse.BodyRef{Seq: e.Seq, Record: i}); len(body) > 0 && listed[b] {
				left = append(left, b)
			}
		}
	}
	return left, nil
}
