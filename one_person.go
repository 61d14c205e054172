package posthouse

import "slices"

// People says which names are one person's. A server knows it of its access tokens: a token that was
// made over the API speaks for its maker, too, until it is confirmed.
type People interface {
	// OnePerson reports whether two different names count as one person. If they do, confirm is the
	// name of the access token that makes them two once it is confirmed, or "".
	OnePerson(a, b string) (confirm string, one bool)
}

// SamePerson reports whether two names are one person's, as far as is known to who read the gate:
// names that [SameName] compares as equal are, and those that [GateRecord.People] says. No name is a person's if it is empty.
func (g *Gate) SamePerson(a, b string) bool {
	switch {
	case a == "" || b == "":
		return false
	case SameName(a, b):
		return true
	}
	if g.Record.People == nil {
		return false
	}
	_, one := g.Record.People.OnePerson(a, b)
	return one
}

// Requester returns the requester of the gate who is the person of a name: the name itself, or
// another name of the same person; "" if the gate is not their request.
func (g *Gate) Requester(name string) string {
	return g.among(name, g.RequesterNames())
}

// among returns the name of a list that is the same person's as another name, or "". The name itself
// comes first.
func (g *Gate) among(name string, names []string) string {
	if slices.Contains(names, name) {
		return name
	}
	for _, n := range names {
		if g.SamePerson(name, n) {
			return n
		}
	}
	return ""
}

// Voter returns the name under which a person voted, or had somebody vote: the name itself, or another
// one of the same person; "" without a vote.
func (g *Gate) Voter(name string) string {
	var names []string
	for i := range g.Votes {
		names = append(names, g.Votes[i].By, g.Votes[i].Actor)
	}
	return g.among(name, names)
}
