package posthouse

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// signalsPart holds how far a checkpoint's branch took the signals of each
// name, for forks that begin at it: a JSON object of entries by name. The
// Ledger alone writes it.
const signalsPart = "$signals"

// A Take says that a draft's branch takes a signal, whose value the same draft
// records.
type Take struct {
	Name   string
	Signal uint64 // its entry
}

// take adds the record that a branch took a signal.
func (a *appending) take(branch, name string, signal uint64) {
	a.add(Record{Kind: RecordTake, Take: &TakeInfo{Branch: branch, Name: name, Signal: signal}}, nil)
}

// taken returns the entry of the newest signal of a name that a branch took,
// in this entry or before.
func (a *appending) taken(branch, name string) uint64 {
	for i := range slices.Backward(a.records) {
		if k := a.records[i].Take; k != nil && k.Branch == branch && k.Name == name {
			return k.Signal
		}
	}
	return a.t.info.taken(branch, name)
}

// takeSignals adds what the plan's steps took.
func (c *Commit) takeSignals() error {
	a, d := c.tx, c.plan
	for _, k := range d.Takes {
		if have := a.taken(d.Branch, k.Name); k.Signal <= have || k.Signal > a.t.info.newestSignal(k.Name) {
			return &Error{
				Code: CodeConflict, Tail: &a.t.info.Tail,
				Message: "branch " + d.Branch + " of thread " + d.Thread + " cannot take signal " + k.Name + " of this entry: it took a newer one, or there is none",
			}
		}
		a.take(d.Branch, k.Name, k.Signal)
	}
	return nil
}

// findAnswers finds the signals that are on record already for gates that the
// draft opens, and takes them: a wait is never put to sleep over its signal.
func (c *Commit) findAnswers() error {
	a, d := c.tx, c.plan
	if !c.exists {
		if err := a.goOn(d.Branch); err != nil {
			return err
		}
	}
	for i := range d.Gates {
		g := &d.Gates[i]
		if g.Kind != GateSignal {
			continue
		}
		s, err := a.l.waiting(a.ctx, a.t.info, a.taken(d.Branch, g.Signal), g.Signal, g.Latch)
		if err != nil {
			return err
		}
		if s == nil || !g.ExpiresAt.IsZero() && !a.at.Before(g.ExpiresAt) {
			continue
		}
		if c.answered == nil {
			c.answered = map[int]*Signal{}
		}
		if c.answered[i] = s; !g.Latch {
			a.take(d.Branch, g.Signal, s.Seq)
		}
	}
	return nil
}

// waiting returns the signal that a wait for a name gets at once: the oldest
// behind the entry taken, or the newest if it latches; nil if it has to wait.
func (l *Core) waiting(ctx context.Context, info *ThreadInfo, taken uint64, name string, latch bool) (*Signal, error) {
	seqs, err := l.behind(ctx, info, taken, name, latch)
	if err != nil || len(seqs) == 0 {
		return nil, err
	}
	return l.reader(ctx, info.Thread).signal(seqs[0])
}

// behind returns the entries of the signals that a branch has yet to take,
// oldest first; of a latch the newest, whether or not it was taken.
func (l *Core) behind(ctx context.Context, info *ThreadInfo, taken uint64, name string, latch bool) ([]uint64, error) {
	newest := info.newestSignal(name)
	if newest == 0 || latch {
		return slices.DeleteFunc([]uint64{newest}, func(seq uint64) bool { return seq == 0 }), nil
	}
	var seqs []uint64
	r := l.reader(ctx, info.Thread)
	for seq := newest; seq > taken; {
		seqs = append(seqs, seq)
		e, err := r.entry(seq, false)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(e.recs, func(rec Record) bool { return rec.Signal != nil && rec.Signal.Name == name })
		if i < 0 || e.recs[i].Signal.Prev >= seq {
			return nil, corrupt("entry %d of thread %q does not hold signal %s", seq, info.Thread, name)
		}
		seq = e.recs[i].Signal.Prev
	}
	slices.Reverse(seqs)
	return seqs, nil
}

// What [Ledger.Pending] reads at a time: so many signals, and no further one
// beyond so many bytes.
const (
	maxPending      = 64
	maxPendingBytes = 1 << 20
)

// Pending returns the signals of a name that the branch ("" is main) has yet to
// take, oldest first, the first 64 or what holds a megabyte; with latch the newest
// one of the name, taken or not. [ErrNotFound] for an unknown thread.
func (l *Core) Pending(ctx context.Context, thread, branch, name string, latch bool) ([]*Signal, error) {
	info, err := l.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if branch == "" {
		branch = MainBranch
	}
	seqs, err := l.behind(ctx, info, info.taken(branch, name), name, latch)
	if err != nil {
		return nil, err
	}
	var found []*Signal
	size := 0
	for _, seq := range seqs[:min(len(seqs), maxPending)] {
		s, err := l.reader(ctx, thread).signal(seq)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
		if size += len(s.Value); size > maxPendingBytes {
			break
		}
	}
	return found, nil
}

// goOn has a branch that begins go on from where its parent checkpoint was.
func (a *appending) goOn(branch string) error {
	i := a.enc.find(signalsPart)
	if i < 0 {
		return nil
	}
	data, err := a.enc.value(&a.enc.parts[i])
	if err != nil {
		return err
	}
	var have map[string]uint64
	if err := json.Unmarshal(data, &have); err != nil {
		return corrupt("what checkpoint %s says of signals does not decode: %v", a.enc.base.ID, err)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if a.taken(branch, name) < have[name] {
			a.take(branch, name, have[name])
		}
	}
	return nil
}

// noteTaken has the checkpoint say how far its branch took signals, where that
// is not what its parent says.
func (c *Commit) noteTaken(base *head) error {
	a, d := c.tx, c.plan
	if !a.tookSince(d.Branch, base) {
		return nil
	}
	now := map[string]uint64{}
	for _, k := range a.t.info.Taken {
		if k.Branch == d.Branch {
			now[k.Name] = k.Signal
		}
	}
	for i := range a.records {
		if k := a.records[i].Take; k != nil && k.Branch == d.Branch {
			now[k.Name] = k.Signal
		}
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return a.enc.set(signalsPart, Value{"json", data})
}

// tookSince reports whether a branch took anything behind the checkpoint.
func (a *appending) tookSince(branch string, c *head) bool {
	for _, k := range a.t.info.Taken {
		if k.Branch == branch && (c == nil || k.Seq > c.Seq) {
			return true
		}
	}
	for i := range a.records {
		if k := a.records[i].Take; k != nil && k.Branch == branch {
			return true
		}
	}
	return false
}
