package commit

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// AddTake adds the record that a branch took a signal.
func AddTake(tx *core.Tx, branch, name string, signal uint64) {
	tx.Add(posthouse.Record{Kind: posthouse.RecordTake, Take: &posthouse.TakeInfo{Branch: branch, Name: name, Signal: signal}}, nil)
}

// returnedMark begins the key of a signal that was returned in [posthouse.SignalsPart]. Its entry
// and, after a space, its name follow.
const returnedMark = "$"

// addReturned adds the record that a branch returned a signal that answered a wait, which is gate
// unless the branch inherits that from another.
func addReturned(tx *core.Tx, branch, name string, signal uint64, gate posthouse.ID) {
	tx.Add(posthouse.Record{Kind: posthouse.RecordTake, Take: &posthouse.TakeInfo{Branch: branch, Name: name, Signal: signal, Returned: true, Gate: gate}}, nil)
}

// taken returns the entry of the newest signal of a name that a branch took, in this
// entry or before, and those of the signals that were returned, oldest first.
func taken(tx *core.Tx, branch, name string) (newest uint64, returned []uint64) {
	newest, returned = takenBefore(tx.Thread.Info, branch, name)
	for i := range tx.Records {
		k := tx.Records[i].Take
		switch {
		case k == nil || k.Branch != branch || k.Name != name:
		case k.Returned:
			returned = append(returned, k.Signal)
		default:
			newest = max(newest, k.Signal)
			returned = slices.DeleteFunc(returned, func(seq uint64) bool { return seq == k.Signal })
		}
	}
	slices.Sort(returned)
	return newest, returned
}

// takenBefore is taken without a transaction.
func takenBefore(info *posthouse.ThreadInfo, branch, name string) (newest uint64, returned []uint64) {
	for i := range info.Taken {
		if k := &info.Taken[i]; k.Returned && k.Branch == branch && k.Name == name {
			returned = append(returned, k.Signal)
		}
	}
	slices.Sort(returned)
	return info.TakenSignal(branch, name), returned
}

func (c *Commit) takeSignals() error {
	tx, p := c.tx, c.plan
	for _, k := range p.ConsumedSignals {
		have, returned := taken(tx, p.Branch, k.Name)
		if k.Signal <= have && !slices.Contains(returned, k.Signal) || k.Signal > tx.Thread.Info.NewestSignal(k.Name) {
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Tail: &tx.Thread.Info.Tail,
				Message: "branch " + p.Branch + " of thread " + p.Thread + " cannot take signal " + k.Name + " of this entry: it took a newer one, or there is none",
			}
		}
		AddTake(tx, p.Branch, k.Name, k.Signal)
	}
	return nil
}

// findAnswers takes the signals on record for gates that the plan opens: a wait never
// sleeps over its signal.
func (c *Commit) findAnswers() error {
	tx, p := c.tx, c.plan
	if !c.exists {
		if err := inheritTaken(tx, p.Branch); err != nil {
			return err
		}
	}
	for i := range p.Gates {
		g := &p.Gates[i]
		if g.Kind != posthouse.GateSignal {
			continue
		}
		after, returned := taken(tx, p.Branch, g.Signal)
		s, err := tx.Core.Logs.NextSignal(tx.Ctx, tx.Thread.Info, after, returned, g.Signal, g.Latch)
		if err != nil {
			return err
		}
		if s == nil || !g.ExpiresAt.IsZero() && !tx.At.Before(g.ExpiresAt) {
			continue
		}
		if c.answered == nil {
			c.answered = map[int]*posthouse.Signal{}
		}
		c.answered[i] = s
		if !g.Latch {
			AddTake(tx, p.Branch, g.Signal, s.Seq)
		}
	}
	return nil
}

// How much [Pending] reads at a time: signals, and bytes after which it reads no
// further one.
const (
	maxPending      = 64
	maxPendingBytes = 1 << 20
)

// Pending returns the signals of a name that the branch ("" is main) has yet to take,
// oldest first: up to 64, or a megabyte. With latch it returns the newest one, taken or
// not. [posthouse.ErrNotFound] for an unknown thread.
func Pending(ctx context.Context, c *Committer, thread, branch, name string, latch bool) ([]*posthouse.Signal, error) {
	info, err := c.Logs.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if branch == "" {
		branch = posthouse.MainBranch
	}
	after, returned := takenBefore(info, branch, name)
	seqs, err := c.Logs.PendingSignals(ctx, info, after, returned, name, latch)
	if err != nil {
		return nil, err
	}
	var found []*posthouse.Signal
	size := 0
	for _, seq := range seqs[:min(len(seqs), maxPending)] {
		s, err := c.Logs.Reader(ctx, thread).Signal(seq)
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

// inheritTaken makes a new branch continue with the signals where its parent checkpoint
// was.
func inheritTaken(tx *core.Tx, branch string) error {
	i := tx.Enc.Find(posthouse.SignalsPart)
	if i < 0 {
		return nil
	}
	data, err := tx.Enc.Value(&tx.Enc.Parts[i])
	if err != nil {
		return err
	}
	var have map[string]uint64
	if err := json.Unmarshal(data, &have); err != nil {
		return posthouse.Corrupt("what checkpoint %s says of signals does not decode: %v", tx.Enc.Base.ID, err)
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if strings.HasPrefix(key, returnedMark) {
			continue
		}
		if newest, _ := taken(tx, branch, key); newest < have[key] {
			AddTake(tx, branch, key, have[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, name, ok := strings.Cut(key, " "); ok && strings.HasPrefix(key, returnedMark) {
			addReturned(tx, branch, name, have[key], "")
		}
	}
	return nil
}

// noteTaken records in the checkpoint which signals its branch took, if its parent says
// otherwise.
func (c *Commit) noteTaken(base *core.Head) error {
	tx, p := c.tx, c.plan
	if !hasTaken(tx, p.Branch, base) {
		return nil
	}
	now := map[string]uint64{}
	returned := func(name string, signal uint64) string {
		return returnedMark + strconv.FormatUint(signal, 10) + " " + name
	}
	for _, k := range tx.Thread.Info.Taken {
		switch {
		case k.Branch != p.Branch:
		case k.Returned:
			now[returned(k.Name, k.Signal)] = k.Signal
		default:
			now[k.Name] = k.Signal
		}
	}
	for i := range tx.Records {
		k := tx.Records[i].Take
		switch {
		case k == nil || k.Branch != p.Branch:
		case k.Returned:
			now[returned(k.Name, k.Signal)] = k.Signal
		default:
			delete(now, returned(k.Name, k.Signal))
			now[k.Name] = max(now[k.Name], k.Signal)
		}
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return tx.Enc.Set(posthouse.SignalsPart, posthouse.Value{Codec: "json", Data: data})
}

// hasTaken reports whether a branch took a signal after the checkpoint.
func hasTaken(tx *core.Tx, branch string, c *core.Head) bool {
	for _, k := range tx.Thread.Info.Taken {
		if k.Branch == branch && (c == nil || k.Seq > c.Seq) {
			return true
		}
	}
	for i := range tx.Records {
		if k := tx.Records[i].Take; k != nil && k.Branch == branch {
			return true
		}
	}
	return false
}
