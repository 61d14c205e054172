package front

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// StateOptions say which checkpoint of a thread is wanted. The zero value is the
// head of main.
type StateOptions struct {
	Branch     string
	Checkpoint posthouse.ID
	Node       string
	Version    uint32
}

// StateOf returns the checkpoint that o asks for. [posthouse.ErrNotFound].
func StateOf(ctx context.Context, l *ledger.Ledger, thread string, o StateOptions) (*posthouse.Checkpoint, error) {
	thread = cmp.Or(thread, posthouse.DefaultThread)
	switch {
	case o.Checkpoint != "":
		c, err := l.Get(ctx, o.Checkpoint)
		if err == nil && c.Thread != thread {
			return nil, &posthouse.Error{
				Code: posthouse.CodeNotFound, Message: "checkpoint " + string(c.ID) + " is not of thread " + thread,
				Hint: "it belongs to thread " + c.Thread,
			}
		}
		return c, err
	case o.Version == 0:
		return l.Latest(ctx, ledger.LatestQuery{Thread: thread, Branch: o.Branch, Node: o.Node})
	case o.Node != "":
		q := posthouse.Query{Thread: thread, Generation: o.Version, Branch: o.Branch, Node: o.Node, Descending: true, Limit: 1}
		for c, err := range l.ListStates(ctx, q) {
			return c, err
		}
	default:
		r, err := ledger.FindRelease(ctx, l, thread, strconv.FormatUint(uint64(o.Version), 10))
		if err != nil {
			return nil, err
		}
		if h, ok := r.Head(o.Branch); ok {
			return l.Get(ctx, h.Head)
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "version " + strconv.FormatUint(uint64(o.Version), 10) + " of thread " + thread + " has no such checkpoint",
	}
}

// HistoryOptions narrow a history. The zero value is all of it.
type HistoryOptions struct {
	Branch  string
	Node    string
	Kind    string
	Status  posthouse.Status
	Run     string
	Label   string
	Value   string
	Since   time.Time
	Until   time.Time
	Version uint32
	Oldest  bool
	After   string
	Limit   int
}

func (o *HistoryOptions) query(thread string) posthouse.Query {
	q := posthouse.Query{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: o.Branch, Node: o.Node, Kind: o.Kind, Status: o.Status, Run: o.Run,
		Label: o.Label, LabelValue: o.Value, Generation: o.Version,
		After: o.After, Limit: o.Limit, Descending: !o.Oldest,
	}
	if !o.Since.IsZero() {
		q.Since = posthouse.Millis(o.Since.UnixMilli())
	}
	if !o.Until.IsZero() {
		q.Until = posthouse.Millis(o.Until.UnixMilli())
	}
	return q
}
