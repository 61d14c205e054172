package commit

import (
	"github.com/posthouse/posthouse"
)

// CheckNames reports what is wrong with the people that a new gate names. Gates that a
// fork inherits are not checked again.
func CheckNames(g *posthouse.Gate) error {
	for _, n := range g.Assignees {
		if err := posthouse.CheckNamed("assignees", n, "who each of them is"); err != nil {
			return err
		}
	}
	if g.Escalation != nil {
		for _, n := range g.Escalation.To {
			if err := posthouse.CheckNamed("escalation", n, "to whom it goes"); err != nil {
				return err
			}
		}
	}
	return posthouse.CheckPerson("requestedBy", g.RequestedBy)
}
