package threads

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// nextAnswer offers the answer that may be the first choice. Where no answer may, it is to be looked at.
func nextAnswer(e *env.Env, g *posthouse.Gate) {
	for _, a := range g.Answers() {
		if a.Primary && a.Value == "" {
			e.Next("posthouse "+string(a.Verdict)+" %s", g.ID)
			return
		}
	}
	e.Next("posthouse gate show %s", g.ID)
}

// nextAbout offers what can be done about a gate of which the kind is known.
func nextAbout(e *env.Env, id posthouse.ID, kind string) {
	if kind == posthouse.GateApproval || kind == "" {
		e.Next("posthouse approve %s", id)
		return
	}
	e.Next("posthouse gate show %s", id)
}
