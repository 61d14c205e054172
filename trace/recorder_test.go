package trace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/trace"
)

// A recorder is a Tracer that keeps what was traced. Several processes may share one, as they
// share a collector.
type recorder struct {
	mu    sync.Mutex
	spans []*span
}

type span struct {
	trace.Span
	own    traceid.Context
	parent traceid.Context // zero: it is the first of its trace
	link   traceid.Context // the span of its caller, where the parent is another
	end    *trace.End
}

type spanKey struct{}

func (r *recorder) Start(ctx context.Context, s *trace.Span) (context.Context, func(*trace.End)) {
	made := &span{Span: *s, own: traceid.New()}
	around, _ := ctx.Value(spanKey{}).(*span)
	if parent, ok := traceid.Parse(s.Parent); ok {
		made.parent = parent
		if around != nil {
			made.link = around.own
		}
	} else if around != nil {
		made.parent = around.own
	}
	if made.parent != (traceid.Context{}) {
		made.own.Trace = made.parent.Trace
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, made)
	return context.WithValue(ctx, spanKey{}, made), func(e *trace.End) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if made.end != nil {
			panic("a span ends twice")
		}
		made.end = e
	}
}

func (r *recorder) Traceparent(ctx context.Context) string {
	if s, ok := ctx.Value(spanKey{}).(*span); ok {
		return s.own.String()
	}
	return ""
}

// request is the span of a caller of the library.
func (r *recorder) request(ctx context.Context) (context.Context, *span) {
	ctx, end := r.Start(ctx, &trace.Span{Kind: trace.KindRequest, Name: "POST"})
	end(&trace.End{})
	return ctx, ctx.Value(spanKey{}).(*span)
}

// lines are the spans as kind, name, and how they ended.
func (r *recorder) lines(t *testing.T) (lines []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.end == nil {
			t.Errorf("span %s %s has not ended", s.Kind, s.Name)
			continue
		}
		line := fmt.Sprintf("%s %s", s.Kind, s.Name)
		switch {
		case errors.Is(s.end.Err, posthouse.ErrWaiting):
			line += " waits"
		case s.end.Err != nil:
			line += " fails"
		}
		if s.end.Status != "" {
			line += " " + string(s.end.Status)
		}
		if s.Replay {
			line += " again"
		}
		lines = append(lines, line)
	}
	return lines
}

// find returns the spans of a kind and name.
func (r *recorder) find(kind trace.Kind, name string) (found []*span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Kind == kind && s.Name == name {
			found = append(found, s)
		}
	}
	return found
}
