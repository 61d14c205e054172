package front

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// traced begins the span of a run. One that resumes goes on in the trace of the newest input.
func (f *Front[O, In, R, C]) traced(ctx context.Context, s *session.Session, resumes bool) (context.Context, func(error)) {
	recorded := ""
	if h := s.Head(); resumes && h != nil {
		if c, err := ledger.GetOf(ctx, f.Ledger, h); err == nil { // else the run itself says why not
			recorded = c.Traceparent()
		}
	}
	return engine.TracedRun(ctx, s, f.Name, recorded)
}
