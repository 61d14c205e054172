package task

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// Any, among the groups or tasks of a [Pass], stands for all of them.
const Any = "*"

// A Pass says who a worker is and which tasks it may take. The transport that carries its
// calls found that out. A worker's own claims count only within its pass.
type Pass struct {
	Name   string   // on record, after "worker:"; 1 to 200 bytes
	Groups []string // it may take their tasks, beside those of no group
	Tasks  []string // the names that it may take
}

// Check returns [posthouse.ErrForbidden] for a worker that wants more than its pass allows.
func (p *Pass) Check(h *Hello) error {
	allows := func(all []string, name string) bool { return slices.Contains(all, name) || slices.Contains(all, Any) }
	if h.Group != "" && !allows(p.Groups, h.Group) {
		return p.refuse("group", h.Group)
	}
	for _, name := range h.Tasks {
		if !allows(p.Tasks, name) {
			return p.refuse("task", name)
		}
	}
	return nil
}

func (p *Pass) refuse(what, name string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: what, Message: "the worker " + p.Name + " may not take tasks of " + what + " " + name,
		Hint: "allow it where the server's data directory is: posthouse token allow " + p.Name + " --" + what + " " + name,
	}
}

type passKey struct{}

// WithPass returns a context for calls of an [Engine] that come from outside this process. The
// engine holds the worker to the pass.
func WithPass(ctx context.Context, p *Pass) context.Context {
	return context.WithValue(ctx, passKey{}, p)
}

// PassOf returns the pass of a call; nil for one of this process, which is trusted.
func PassOf(ctx context.Context) *Pass {
	p, _ := ctx.Value(passKey{}).(*Pass)
	return p
}
