package threads

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// Completers returns what shells are offered, by the name of an argument in a usage line.
func Completers() map[string]env.Completer {
	checkpoint := env.Offer("/api/checkpoints", func(h *posthouse.Header) (string, string) {
		return string(h.ID), h.Kind + " " + agentOrNode(h) + " of " + h.Thread
	})
	return map[string]env.Completer{
		"GATE":       env.Offer("/api/gates", func(g *posthouse.Gate) (string, string) { return string(g.ID), headline(g) }),
		"THREAD":     env.Offer("/api/threads", func(t *posthouse.ThreadInfo) (string, string) { return t.Thread, t.Graph + " " + string(t.Status) }),
		"PROGRAM":    env.Offer("/api/programs", func(p *posthouse.ProgramInfo) (string, string) { return p.Name, p.Kind + " " + p.Description }),
		"CHECKPOINT": checkpoint,
		"A":          checkpoint,
		"B":          checkpoint,
	}
}
