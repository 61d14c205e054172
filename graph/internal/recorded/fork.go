package recorded

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// KeepsNext reports whether a fork keeps the next nodes that its source chose.
func KeepsNext(fork *posthouse.Checkpoint) bool {
	return threadlog.KeepsNext(&fork.Header, fork.Program)
}

// Open returns the gates that a task and those below it have open.
func (p *Progress) Open(task string) (open []posthouse.ID) {
	for name, x := range p.All {
		if !within(name, task) {
			continue
		}
		for _, g := range x.Gates {
			if g.Decision == nil {
				open = append(open, g.ID)
			}
		}
	}
	return open
}
