// Package report tells the reader of a stream what a run of a graph does.
//
// It knows of the run where its session stands, and of a node its name.
package report

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Reporter sends what a run does to its stream.
type Reporter struct {
	Hub     *stream.Hub // nil without a stream
	Session *session.Session
	Ledger  *ledger.Ledger
	Path    string // of the run's graph in the graph of the stream
}

// notice makes a notice about the head. node made it, or the step that completed last.
func (p *Reporter) notice(kind runs.EventKind, mode runs.StreamMode, node string) stream.Notice {
	return stream.Notice{Kind: kind, Mode: mode, Path: p.Path, Node: node, Checkpoint: *p.Session.Head()}
}

// Values reports the head with its state.
func (p *Reporter) Values(kind runs.EventKind, node string, live *state.Live) error {
	mode := p.Hub.Wants(runs.StreamValues)
	if mode == "" || p.Hub.Gone() {
		return nil
	}
	s, err := live.Copy()
	if err != nil {
		return err
	}
	n := p.notice(kind, mode, node)
	n.State = s
	p.Hub.Send(n)
	return nil
}

// Checkpoint reports the head, which was just committed. began is when its commit began.
func (p *Reporter) Checkpoint(node string, began time.Time) {
	mode := p.Hub.Wants(runs.StreamCheckpoints, runs.StreamDebug)
	if mode == "" {
		return
	}
	n := p.notice(runs.EventCheckpoint, mode, node)
	n.At = p.Ledger.Now()
	n.Took = n.At.Sub(began)
	p.Hub.Send(n)
}

// An Attempt is an attempt of a task.
type Attempt struct {
	Node, Task string    // as in checkpoints
	Number     int       // from 1
	Began      time.Time // zero unless a stream asks for it
}

// Update reports what a task changed, once it is on record.
func (p *Reporter) Update(a Attempt, writes []state.Write) {
	mode := p.Hub.Wants(runs.StreamUpdates)
	if mode == "" {
		return
	}
	n := p.notice(runs.EventUpdate, mode, a.Node)
	n.Task, n.Updates = a.Task, make(map[string]posthouse.Value, len(writes))
	for _, w := range writes {
		n.Updates[w.Field.Part] = w.Value()
	}
	p.Hub.Send(n)
}

// Task reports that an attempt begins, or what became of it. It returns when the attempt began.
func (p *Reporter) Task(a Attempt, kind runs.EventKind, failed error, due time.Time) time.Time {
	mode := p.Hub.Wants(runs.StreamTasks, runs.StreamDebug)
	if mode == "" {
		return a.Began
	}
	n := stream.Notice{Kind: kind, Mode: mode, Path: p.Path, Node: a.Node, Task: a.Task, Attempt: a.Number, At: p.Ledger.Now(), Err: failed, Due: due}
	switch {
	case kind == runs.EventTaskStart:
		a.Began = n.At
	case !a.Began.IsZero():
		n.Took = n.At.Sub(a.Began)
	}
	p.Hub.Send(n)
	return a.Began
}

// Emitter returns what forwards the emissions of one attempt. It is nil if the stream does not
// ask for them.
func (p *Reporter) Emitter(a Attempt) *stream.Emitter {
	if p.Hub.Wants(runs.StreamMessages, runs.StreamCustom) == "" {
		return nil
	}
	return p.Hub.Emitter(func(*stream.Emission) stream.Notice {
		return stream.Notice{Path: p.Path, Node: a.Node, Task: a.Task, Attempt: a.Number}
	})
}
