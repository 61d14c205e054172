package threadlog

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// Signal reads the signal in an entry, or fails with [posthouse.ErrNotFound].
func (r *Reader) Signal(seq uint64) (*posthouse.Signal, error) {
	e, err := r.Entry(seq, true)
	if err != nil {
		return nil, err
	}
	var s *posthouse.Signal
	for i := range e.Recs {
		switch rec := &e.Recs[i]; {
		case rec.Signal != nil:
			s = rec.Signal.Signal(&e.Entry, e.Bodies[i])
		case rec.Decision != nil && s != nil:
			s.Gates = append(s.Gates, rec.Decision.Gate)
		}
	}
	if s == nil {
		return nil, posthouse.NotFound("signal at entry of thread "+r.Thread, seq)
	}
	return s, nil
}

// NextSignal returns the signal that a wait for a name takes at once, or nil: the oldest
// that was returned, else the oldest one after the entry taken, or the newest if the wait latches.
func (l *Logs) NextSignal(ctx context.Context, info *posthouse.ThreadInfo, taken uint64, returned []uint64, name string, latch bool) (*posthouse.Signal, error) {
	seqs, err := l.PendingSignals(ctx, info, taken, returned, name, latch)
	if err != nil || len(seqs) == 0 {
		return nil, err
	}
	return l.Reader(ctx, info.Thread).Signal(seqs[0])
}

// PendingSignals returns the entries of the signals that a branch has yet to take, oldest
// first: those that it returned, and all after the entry taken. For a latch it is the newest, taken
// or not.
func (l *Logs) PendingSignals(ctx context.Context, info *posthouse.ThreadInfo, taken uint64, returned []uint64, name string, latch bool) ([]uint64, error) {
	newest := info.NewestSignal(name)
	if newest == 0 || latch {
		return slices.DeleteFunc([]uint64{newest}, func(seq uint64) bool { return seq == 0 }), nil
	}
	var seqs []uint64
	r := l.Reader(ctx, info.Thread)
	for seq := newest; seq > taken; {
		seqs = append(seqs, seq)
		e, err := r.Entry(seq, false)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(e.Recs, func(rec posthouse.Record) bool { return rec.Signal != nil && rec.Signal.Name == name })
		if i < 0 || e.Recs[i].Signal.Prev >= seq {
			return nil, posthouse.Corrupt("entry %d of thread %q does not hold signal %s", seq, info.Thread, name)
		}
		seq = e.Recs[i].Signal.Prev
	}
	slices.Reverse(seqs)
	return append(slices.Clone(returned), seqs...), nil
}

// ReturnedBy returns what an execution finds as the end of a wait whose signal went to another, from
// the entry that says so: the wait was withdrawn.
func ReturnedBy(g *posthouse.Gate, e *posthouse.Entry) *posthouse.Decision {
	return &posthouse.Decision{
		Gate: g.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: "the program did not wait for it any more", At: e.Time(), Seq: e.Seq,
	}
}
