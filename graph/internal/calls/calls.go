// Package calls is about threads that other threads call: subgraphs that run in
// threads of their own. It says from the log who called a thread, where the call
// ended, and how far a caller knows; a [Program] wakes callers and cancels what they
// left behind.
//
// It knows nothing of nodes and states. The package imports the root package
// and ledger.
package calls

import (
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

// IsCallOf reports whether the labels of a call say that the checkpoint's branch
// made it.
func IsCallOf(call map[string]string, h *posthouse.Header) bool {
	branch := call[LabelBranch]
	if branch == "" {
		branch = posthouse.MainBranch
	}
	return call[LabelParent] == h.Thread && branch == h.Branch
}

// RecordedChild returns where the thread of a subgraph was when its caller
// parked, if that waits for it at the checkpoint.
func RecordedChild(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string, latest bool) (child Position, err error) {
	all, err := l.Core().Executions(ctx, &c.Header)
	if err != nil {
		return child, err
	}
	seq := uint64(0)
	for key, x := range all {
		for i := range x.Steps {
			s := &x.Steps[i]
			if s.Name != PositionStep || s.Seq < seq || s.Seq > c.Seq && !latest || CalledAs(key) != path {
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

// RunningChild returns the thread of a subgraph that was called and has not
// ended, though its caller did not come to park.
func RunningChild(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (Position, error) {
	q := posthouse.Query{Label: LabelParent, LabelValue: c.Thread, Descending: true}
	for h, err := range l.List(ctx, q) {
		if err != nil {
			return Position{}, err
		}
		if !beganCall(h) || !IsCallOf(h.Labels, &c.Header) || CalledAs(h.Labels[LabelCall]) != path {
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

// PositionStep is the step that says where the thread of a subgraph stood when its
// caller parked.
const PositionStep = "$child"

// KeptPrefix begins the names of the parts that say, by the path of a subgraph that
// lives per thread in one of its own, where its last call ended: a fork of the
// caller goes on from there.
const KeptPrefix = "$own/"

// A Position is where the thread of a subgraph stands.
type Position struct {
	Thread     string       `json:"thread"`
	Checkpoint posthouse.ID `json:"checkpoint"`
}

// CalledAs returns the path of an execution, by the names that its steps began
// with: as in "research/deep" of "3/research>1/deep".
func CalledAs(key string) string {
	calls := strings.Split(key, ">")
	for i, c := range calls {
		_, calls[i], _ = strings.Cut(c, "/")
	}
	return strings.Join(calls, "/")
}

// KeptChild returns what a caller's parts say of a subgraph, the zero Position
// for nothing.
func KeptChild(program posthouse.State, path string) (c Position, err error) {
	if v, ok := program[KeptPrefix+path]; ok {
		err = json.Unmarshal(v.Data, &c)
	}
	return c, err
}

// EndOf returns the last checkpoint of the call that began with h, if it was
// done and another began behind it.
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
	for h, err := range l.List(ctx, posthouse.Query{Thread: thread, Branch: posthouse.MainBranch, Descending: true}) {
		if err != nil || beganCall(h) {
			return err == nil, err
		}
		if h.Kind == posthouse.KindInput {
			break
		}
	}
	return false, nil
}

// LabelsOf returns the labels of the checkpoint that began a thread's last call,
// nil if nobody called it.
func LabelsOf(ctx context.Context, l *ledger.Ledger, thread string) (map[string]string, error) {
	for h, err := range l.List(ctx, posthouse.Query{Thread: thread, Descending: true}) {
		switch {
		case err != nil:
			return nil, err
		case beganCall(h):
			return h.Labels, nil
		}
	}
	return nil, nil
}

// beganCall reports whether a checkpoint began a call of its thread. A fork and a
// copy of one that did have its labels, and are nobody's call.
func beganCall(h *posthouse.Header) bool {
	switch called := h.Labels[LabelCalled]; {
	case h.Labels[LabelParent] == "":
		return false
	case called == "": // it is from before there was the label
		return h.Source == nil
	default:
		return called == h.Thread && (h.Source == nil || h.Source.Thread != h.Thread)
	}
}
