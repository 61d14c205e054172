package commit

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// RequiresGrants reports whether effects on the world need a grant; see
// Options.RequireGrants.
func RequiresGrants(c *core.Core) bool { return c.Config.RequireGrants }

// Reconsider asks Options.Policy again about everybody who took part in a gate's
// decision: an approval does not give authority forever. It returns the policy's error.
func Reconsider(c *core.Core, g *posthouse.Gate) error {
	if c.Config.Policy == nil || g.Decision == nil || g.Decision.Seq == g.Seq { // decided as it was opened: by no person
		return nil
	}
	decisions := []posthouse.Decision{*g.Decision}
	if g.Quorum != nil {
		decisions = g.Votes
	}
	asked := g.Clone()
	asked.Decision = nil
	for i := range decisions {
		if err := c.Config.Policy(asked, decisions[i].Clone()); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(c *posthouse.Change) string {
	if c == nil {
		return ""
	}
	return c.Kind
}
