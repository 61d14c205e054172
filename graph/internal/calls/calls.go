// Package calls reads from the log which threads call others: subgraphs can run in
// threads of their own. It finds who called a thread, where the call ended, and how
// far the caller knows. A [Program] wakes callers and cancels the threads that they
// no longer wait for.
//
// It knows nothing of nodes and states.
package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Labels of the checkpoint that begins a call of a thread.
const (
	LabelParent = "parent"       // the thread that called it
	LabelBranch = "parentBranch" // its branch, unless that is main
	LabelCall   = "call"         // and the execution that did
	LabelCalled = "called"       // the thread that was called: a fork and a copy take labels along
)

// IsCallOf reports whether the labels of a call name the branch of a checkpoint as
// the caller.
func IsCallOf(call map[string]string, h *posthouse.Header) bool {
	return call[LabelParent] == h.Thread && cmp.Or(call[LabelBranch], posthouse.MainBranch) == h.Branch
}

// RecordedChild returns where the thread of a subgraph was when its caller parked. The
// zero Position means that the caller does not wait for it at the checkpoint.
func RecordedChild(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string, latest bool) (child Position, err error) {
	all, err := l.Core().Executions(ctx, &c.Header)
	if err != nil {
		return child, err
	}
	seq := uint64(0)
	for key, x := range all {
		for i := range x.Steps {
			s := &x.Steps[i]
			if s.Name != PositionStep || s.Seq < seq || s.Seq > c.Seq && !latest || calledAs(key) != path {
				continue
			}
			if err := json.Unmarshal(s.Value.Data, &child); err != nil {
				return child, err
			}
			seq = s.Seq
		}
	}
	return child, nil
}

// RunningChild returns the thread of a subgraph that was called and has not ended,
// if its caller has not parked.
func RunningChild(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (Position, error) {
	q := posthouse.Query{Label: LabelParent, LabelValue: c.Thread, Descending: true}
	for h, err := range l.List(ctx, q) {
		if err != nil {
			return Position{}, err
		}
		if !beganCall(h) || !IsCallOf(h.Labels, &c.Header) || calledAs(h.Labels[LabelCall]) != path {
			continue
		}
		info, err := l.Thread(ctx, h.Thread)
		if errors.Is(err, posthouse.ErrNotFound) {
			break // it was released by itself
		}
		if err != nil {
			return Position{}, err
		}
		b, _ := info.Branch(posthouse.MainBranch)
		if b.Status == posthouse.StatusDone || b.Status == posthouse.StatusCancelled || h.Generation != info.Generation {
			break // and so have the calls before it
		}
		return Position{Thread: h.Thread, Checkpoint: h.ID}, nil
	}
	return Position{}, nil
}

// PositionStep is the step that records where the thread of a subgraph stood when its
// caller parked.
const PositionStep = "$child"

// KeptPrefix begins the names of the parts that keep where the last call of a subgraph
// ended, by its path. Only subgraphs that live per thread and have a thread of their
// own have such parts. A fork of the caller goes on from there.
const KeptPrefix = "$own/"

// A Position is a checkpoint in the thread of a subgraph.
type Position struct {
	Thread     string       `json:"thread"`
	Checkpoint posthouse.ID `json:"checkpoint"`
}

// calledAs returns the path of an execution by the names that its steps began with,
// as in "research/deep" of "3/research>1/deep".
func calledAs(key string) string {
	calls := strings.Split(key, ">")
	for i, c := range calls {
		_, calls[i], _ = strings.Cut(c, "/")
	}
	return strings.Join(calls, "/")
}

// KeptChild returns where a caller's parts say that the last call of a subgraph ended.
// The zero Position means that they do not say it.
func KeptChild(program posthouse.State, path string) (c Position, err error) {
	if v, ok := program[KeptPrefix+path]; ok {
		err = json.Unmarshal(v.Data, &c)
	}
	return c, err
}

// EndOf returns the last checkpoint of the call that began with h. It returns "" unless
// that call was done and another one followed it.
func EndOf(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) (posthouse.ID, error) {
	for next, err := range l.List(ctx, posthouse.Query{Thread: h.Thread, Branch: h.Branch, Kind: posthouse.KindInput, From: h.Seq + 1, Limit: 1}) {
		if err != nil {
			return "", err
		}
		end, err := l.GetHeader(ctx, next.Parent)
		if err != nil || end.Status != posthouse.StatusDone {
			return "", err
		}
		return end.ID, nil
	}
	return "", nil
}

// IsCalled reports whether a thread's last input came from a graph that calls it.
func IsCalled(ctx context.Context, l *ledger.Ledger, thread string) (bool, error) {
	q := posthouse.Query{Thread: thread, Branch: posthouse.MainBranch}
	call, err := lastCall(ctx, l, q, func(h *posthouse.Header) bool { return h.Kind == posthouse.KindInput })
	return call != nil, err
}

// LabelsOf returns the labels of the checkpoint that began a thread's last call,
// nil if it was not called.
func LabelsOf(ctx context.Context, l *ledger.Ledger, thread string) (map[string]string, error) {
	return lastCall(ctx, l, posthouse.Query{Thread: thread}, func(*posthouse.Header) bool { return false })
}

// lastCall returns the labels of the newest checkpoint of a query that began a call.
// It returns nil if it meets one that over reports first.
func lastCall(ctx context.Context, l *ledger.Ledger, q posthouse.Query, over func(*posthouse.Header) bool) (map[string]string, error) {
	q.Descending = true
	for h, err := range l.List(ctx, q) {
		switch {
		case err != nil:
			return nil, err
		case beganCall(h):
			return h.Labels, nil
		case over(h):
			return nil, nil
		}
	}
	return nil, nil
}

// beganCall reports whether a checkpoint began a call of its thread. A fork or a copy
// of such a checkpoint has its labels, and began no call.
func beganCall(h *posthouse.Header) bool {
	switch called := h.Labels[LabelCalled]; {
	case h.Labels[LabelParent] == "":
		return false
	case called == "": // earlier versions did not write the label
		return h.Source == nil
	default:
		return called == h.Thread && (h.Source == nil || h.Source.Thread != h.Thread)
	}
}
