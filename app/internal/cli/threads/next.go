package threads

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// nextAnswer offers the answer that may be the first choice. If none may, the question is to be looked at.
func nextAnswer(e *env.Env, g *posthouse.Gate) {
	if !offerAnswer(e, g) {
		e.Next("posthouse gate show %s", g.ID)
	}
}

// offerAnswer offers the answer that may be the first choice, and reports whether there is one.
func offerAnswer(e *env.Env, g *posthouse.Gate) bool {
	for _, a := range g.Answers() {
		if g.AsksPeople() && a.Primary && a.Value == "" {
			e.Next("posthouse "+string(a.Verdict)+" %s", g.ID)
			return true
		}
	}
	return false
}
