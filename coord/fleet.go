package coord

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Fleet is the agents a coordinator can call. It does not change.
type Fleet struct {
	agents map[string]Agent
}

// NewFleet returns a fleet of the agents. [posthouse.ErrInvalid] for a name that is
// malformed or there twice, a skill without function, and two skills that would be
// recorded under one name ("a.b" of agent "x", and "b" of agent "x.a").
func NewFleet(agents ...Agent) (*Fleet, error) {
	f := &Fleet{agents: make(map[string]Agent, len(agents))}
	steps := map[string]string{}
	for _, a := range agents {
		if err := posthouse.ValidateName("agent", a.Name); err != nil {
			return nil, err
		}
		if _, twice := f.agents[a.Name]; twice {
			return nil, posthouse.Invalid("agent", "%q is in the fleet twice", a.Name)
		}
		if len(a.Skills) == 0 {
			return nil, posthouse.Invalid("agent", "%q has no skills", a.Name)
		}
		for name, skill := range a.Skills {
			if err := posthouse.ValidateName("skill", name); err != nil {
				return nil, err
			}
			if skill == nil {
				return nil, posthouse.Invalid("skill", "%q of agent %q has no function", name, a.Name)
			}
			step := stepOf(a.Name, name)
			if len(step) > maxStep {
				return nil, posthouse.Invalid("skill", "%.40q of agent %.40q is on record under a name of %d bytes; the limit is %d", name, a.Name, len(step), maxStep)
			}
			if other, taken := steps[step]; taken {
				return nil, posthouse.Invalid("skill", "%q of agent %q is on record as that of agent %q is: rename one", name, a.Name, other)
			}
			steps[step] = a.Name
		}
		a.Skills = maps.Clone(a.Skills)
		f.agents[a.Name] = a
	}
	return f, nil
}

// Agents returns the agents, by name. Their maps are copies.
func (f *Fleet) Agents() []Agent {
	var list []Agent
	for _, name := range slices.Sorted(maps.Keys(f.agents)) {
		a := f.agents[name]
		a.Skills = maps.Clone(a.Skills)
		list = append(list, a)
	}
	return list
}

// Agent returns a reference to call an agent by. An unknown agent is an error of the call.
func (f *Fleet) Agent(name string) *AgentRef { return &AgentRef{fleet: f, name: name} }

// An AgentRef calls one agent of a fleet.
type AgentRef struct {
	fleet *Fleet
	name  string
}

// skill finds what to run. [posthouse.ErrNotFound] names what there is.
func (a *AgentRef) skill(name string) (Skill, error) {
	agent, ok := a.fleet.agents[a.name]
	if !ok {
		return nil, notFound("agent", a.name, slices.Sorted(maps.Keys(a.fleet.agents)))
	}
	s, ok := agent.Skills[name]
	if !ok {
		return nil, notFound("skill of agent "+a.name, name, slices.Sorted(maps.Keys(agent.Skills)))
	}
	return s, nil
}

func notFound(what, name string, have []string) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: fmt.Sprintf("there is no %s %q", what, name),
		Hint: "there is " + strings.Join(have, ", "),
	}
}

// maxStep leaves room in a step's name for steps below an agent's.
const maxStep = 600

// stepOf returns the name under which calls of an agent are recorded.
func stepOf(agent, skill string) string {
	return stepAgent + posthouse.EscapeName(agent) + "." + posthouse.EscapeName(skill)
}
