package audit

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
)

// A walk reads acts.
type walk struct {
	ctx          context.Context
	ledger       *ledger.Ledger
	thread       string // "": all
	prefix       string
	by, kind     string
	since, until posthouse.Millis
	after        place // zero: from the beginning

	entryNow *ledger.LogEntry                 // that has the acts
	gates    map[posthouse.ID]*posthouse.Gate // of the thread that is read, as far as they are known; nil for those that are gone
	begun    map[uint64]bool                  // entries of it in which effects began that have no result; nil: not read yet
	copy     copying                          // whether the entries that are read were copied
	pending  []*Act                           // of it, with no signature so far
	ahead    ahead
}

// copying says from where entries were copied.
type copying struct {
	from string
	now  bool // the copying goes on
}

// mostGates bounds the gates that a walk remembers.
const mostGates = 5000

func (a *Audit) walk(ctx context.Context, r *api.Request) (*walk, error) {
	w := &walk{ctx: ctx, ledger: a.ledger, thread: r.Query["thread"], prefix: r.Query["prefix"], by: r.Query["by"], kind: r.Query["kind"], since: r.Millis("since"), until: r.Millis("until")}
	if w.thread != "" && w.prefix != "" {
		return nil, posthouse.Invalid("prefix", "goes without a thread")
	}
	if c := r.Query["cursor"]; c != "" {
		at, err := parsePlace(c)
		if err != nil {
			return nil, err
		}
		if w.thread != "" && at.thread != w.thread {
			return nil, posthouse.Invalid("cursor", "is of another thread")
		}
		w.after = at
	}
	return w, nil
}

// threads yields the names of the threads to read, from the one where the walk goes on.
func (w *walk) threads() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if w.thread != "" {
			yield(w.thread, nil)
			return
		}
		if w.after.thread != "" && !yield(w.after.thread, nil) {
			return
		}
		// A thread with only the runtime's own signals is in no list of threads.
		if w.after.thread == "" && strings.HasPrefix(authlog.Thread, w.prefix) && !yield(authlog.Thread, nil) {
			return
		}
		for t, err := range w.ledger.Threads(w.ctx, posthouse.ThreadQuery{Prefix: w.prefix, After: w.after.thread}) {
			if err != nil {
				yield("", err)
				return
			}
			if t.Thread != authlog.Thread && !yield(t.Thread, nil) {
				return
			}
		}
	}
}

// acts yields the acts, and an act without a record after each entry, which says where the walk is.
func (w *walk) acts() iter.Seq2[*Act, error] {
	return func(yield func(*Act, error) bool) {
		for thread, err := range w.threads() {
			if err == nil {
				err = w.enter(thread)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			rng := posthouse.Range{}
			if thread == w.after.thread {
				rng.From = w.after.seq
			}
			for e, err := range w.ledger.Log(w.ctx, thread, rng) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !w.entry(e, yield) {
					return
				}
			}
			w.uncovered()
		}
	}
}

// enter begins a thread.
func (w *walk) enter(thread string) error {
	w.gates, w.begun, w.copy, w.pending = map[posthouse.ID]*posthouse.Gate{}, nil, copying{}, nil
	if thread != w.after.thread || w.after.seq < 2 {
		return nil
	}
	for e, err := range w.ledger.Log(w.ctx, thread, posthouse.Range{To: w.after.seq - 1, Headers: true}) {
		if err != nil {
			return err
		}
		if !w.copied(e) {
			return nil // most threads are no copies: their first entry says so
		}
	}
	return nil
}

// copied notes whether an entry is of the copying of a thread.
func (w *walk) copied(e *ledger.LogEntry) bool {
	for i := range e.Records {
		switch r := &e.Records[i]; {
		case r.Claim != nil:
			w.copy.now = r.Claim.Run == "copy" && !r.Claim.Unclaim
		case r.Checkpoint != nil && r.Checkpoint.Source != nil && w.copy.now:
			w.copy.from = r.Checkpoint.Source.Thread
		}
	}
	return w.copy.now
}

// entry yields the acts of an entry, and at last where it ends.
func (w *walk) entry(e *ledger.LogEntry, yield func(*Act, error) bool) bool {
	w.entryNow = e
	w.copied(e)
	w.signed(e)
	for i, ev := range e.Events {
		act, err := w.act(ev)
		if err == nil && (act == nil || w.passed(ev, i) || !w.wants(act)) {
			continue
		}
		if err == nil {
			err = w.tell(act)
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		w.place(act, i)
		if !yield(act, nil) {
			return false
		}
	}
	return yield(&Act{Thread: e.Thread, Seq: e.Seq, index: len(e.Events)}, nil)
}

// passed reports whether an earlier page had a record.
func (w *walk) passed(e *posthouse.Event, index int) bool {
	return e.Thread == w.after.thread && e.Seq == w.after.seq && index < w.after.index
}

// place says of an act in which entry it is, and what is known of the entry.
func (w *walk) place(act *Act, index int) {
	e := w.entryNow
	act.Hash, act.Signed, act.index = e.Hash, len(e.Sig) > 0, index
	act.CopyOf = w.original(act.Record)
	if act.Signed {
		act.Coverage, act.CoveredBy = coverSigned, e.Seq
		return
	}
	w.pending = append(w.pending, act)
}

// original names the thread where a record was made that a copy, or a fork of another thread, has again.
func (w *walk) original(e *posthouse.Event) string {
	if e.Signal != nil {
		return ""
	}
	if w.copy.now {
		return w.copy.from
	}
	var g *posthouse.Gate
	switch {
	case e.Gate != nil:
		g = w.gates[e.Gate.ID]
	case e.Decision != nil:
		g = w.gates[e.Decision.Gate]
	}
	if e.Step == nil && (g == nil || g.Origin == "") {
		return ""
	}
	for i := range w.entryNow.Records {
		if c := w.entryNow.Records[i].Checkpoint; c != nil && c.Source != nil && c.Source.Thread != e.Thread {
			return c.Source.Thread
		}
	}
	return ""
}

func (w *walk) wants(act *Act) bool {
	at := posthouse.Millis(act.At.UnixMilli())
	return (w.kind == "" || act.Kind == w.kind) && (w.by == "" || act.By == w.by || act.Actor == w.by) && at >= w.since && (w.until == 0 || at < w.until)
}

// act returns the act that a record is, or nil for what the runtime notes for itself.
func (w *walk) act(e *posthouse.Event) (*Act, error) {
	act := &Act{Thread: e.Thread, Seq: e.Seq, At: e.At, Record: e}
	for _, k := range kinds {
		if k.record == e.Kind {
			act.Kind = k.name
		}
	}
	var err error
	isAct := true
	switch {
	case e.Gate != nil:
		w.know(e.Gate)
		act.By = e.Gate.RequestedBy
		isAct = e.Gate.AsksPeople()
	case e.Decision != nil:
		isAct, err = w.decides(act, e.Decision)
	case e.Vote != nil:
		act.By, act.Actor = e.Vote.By, e.Vote.Actor
	case e.Assignment != nil:
		act.By, act.Actor = e.Assignment.By, e.Assignment.Actor
	case e.Signal != nil:
		act.By = e.Signal.By
		for _, k := range accesses {
			if e.Thread == authlog.Thread && string(k.signal) == e.Signal.Name {
				act.Kind = k.name
			}
		}
	case e.Checkpoint != nil:
		act.By = e.Checkpoint.By
		isAct = act.By != ""
	case e.Step != nil:
		isAct, err = w.acted(e.Step, e.Seq)
	case e.Release != nil:
		act.By = e.Release.By
	case e.Removal != nil:
		act.By = e.Removal.By
	default:
		isAct = false
	}
	if err != nil || !isAct {
		return nil, err
	}
	return act, nil
}

// decides takes who decided, and reports whether that is an act: the runtime ends waits by itself.
func (w *walk) decides(act *Act, d *posthouse.Decision) (bool, error) {
	act.By, act.Actor = d.By, d.Actor
	g, err := w.gate(d.Gate)
	if err != nil || g == nil {
		return err == nil && d.By != posthouse.RuntimeActor, err
	}
	g.Decision = d
	if g.AsksPeople() {
		return true, nil
	}
	if g.Kind == posthouse.GateTask {
		act.Kind = taskKind
		return d.By != posthouse.RuntimeActor && d.Verdict != posthouse.Edit, nil // an edit says that its handler waits
	}
	return d.Verdict == posthouse.Cancel && d.By != posthouse.RuntimeActor, nil
}

// acted reports whether a step did something to the world. Within one, the runtime has records of
// its own: of these only the begin is an act, and only as long as there is no result.
func (w *walk) acted(s *posthouse.StepInfo, seq uint64) (bool, error) {
	if s.Effect < posthouse.EffectWrite && s.Grant == "" || s.Effect == posthouse.EffectHuman {
		return false, nil
	}
	if !marks(s) {
		return true, nil
	}
	if !strings.HasSuffix(s.Name, useBegun) {
		return false, nil
	}
	if w.begun == nil {
		w.begun = map[uint64]bool{}
		t, err := w.ledger.Thread(w.ctx, w.entryNow.Thread)
		if unlessUnread(err) != nil {
			return false, err
		}
		if t != nil {
			for _, b := range t.Begun {
				w.begun[b.Seq] = true
			}
		}
	}
	return w.begun[seq], nil
}

// know remembers a gate.
func (w *walk) know(g *posthouse.Gate) {
	if len(w.gates) >= mostGates {
		clear(w.gates)
	}
	c := *g
	c.Payload, c.Schema, c.PayloadSchema = nil, nil, nil
	w.gates[g.ID] = &c
}

// gate returns a gate of the thread that is read, nil for one that is gone.
func (w *walk) gate(id posthouse.ID) (*posthouse.Gate, error) {
	if g, ok := w.gates[id]; ok {
		return g, nil
	}
	g, err := w.ledger.Gate(w.ctx, id)
	switch {
	case unlessUnread(err) != nil:
		return nil, err
	case err != nil:
		w.gates[id] = nil
	default:
		w.know(g)
	}
	return w.gates[id], nil
}

// What is said of signatures.
const (
	coverSigned  = "signed"
	coverLater   = "covered"
	coverNone    = "none"
	coverUnknown = "unknown"
)

// maxAhead is how many entries are read to find the signature that covers an act.
const maxAhead = 20_000

// ahead says what is known of the signatures after the entries that were walked.
type ahead struct {
	thread  string
	through uint64 // no entry up to this one is signed, but for by
	by      uint64 // 0: not found so far
	ended   bool   // there is no later entry
}

// signed covers what waits for a signature, if an entry has one.
func (w *walk) signed(e *ledger.LogEntry) {
	if len(e.Sig) == 0 {
		return
	}
	for _, act := range w.pending {
		act.Coverage, act.CoveredBy = coverLater, e.Seq
	}
	w.pending = nil
}

// uncovered says that no signature came after the acts that wait for one.
func (w *walk) uncovered() {
	for _, act := range w.pending {
		act.Coverage = coverNone
	}
	w.pending = nil
}

// cover finds the signature for what waits for one, among the entries that the walk has not come to.
func (w *walk) cover() error {
	if len(w.pending) == 0 {
		return nil
	}
	thread, last := w.pending[0].Thread, w.pending[len(w.pending)-1].Seq
	a := &w.ahead
	if a.thread != thread {
		*a = ahead{thread: thread}
	}
	if a.by < last {
		a.by = 0
	}
	if a.by == 0 && !a.ended {
		read := 0
		for e, err := range w.ledger.Log(w.ctx, thread, posthouse.Range{From: max(last, a.through) + 1, Headers: true}) {
			if err != nil {
				return err
			}
			a.through = e.Seq
			if len(e.Sig) > 0 {
				a.by = e.Seq
				break
			}
			if read++; read == maxAhead {
				break
			}
		}
		a.ended = a.by == 0 && read < maxAhead
	}
	for _, act := range w.pending {
		switch {
		case a.by > 0:
			act.Coverage, act.CoveredBy = coverLater, a.by
		case a.ended:
			act.Coverage = coverNone
		default:
			act.Coverage = coverUnknown
		}
	}
	w.pending = nil
	return nil
}

// kindNames are the kinds of acts, each once.
func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
		if k.record == posthouse.RecordStep {
			names = append(names, taskKind)
		}
	}
	for _, k := range accesses {
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}
