// Package requesters keeps the list of those who made, or changed, what a program asks: in
// parts of the program, which stay with its forks and copies.
package requesters

import (
	"encoding/json"
	"slices"

	"github.com/posthouse/posthouse"
)

// maxWhat bounds [posthouse.Requester.What].
const maxWhat = 16

// Add returns a list with one more requester. Who is on it for the same reason
// stays where they are, and what they changed is added.
func Add(list []posthouse.Requester, r posthouse.Requester) []posthouse.Requester {
	i := slices.IndexFunc(list, func(o posthouse.Requester) bool { return o.Name == r.Name && o.How == r.How })
	if i < 0 {
		r.What = slices.Clone(r.What[:min(len(r.What), maxWhat)])
		return append(list, r)
	}
	o := &list[i]
	for _, w := range r.What {
		if len(o.What) < maxWhat && !slices.Contains(o.What, w) {
			o.What = append(slices.Clip(o.What), w)
		}
	}
	return list
}

// read decodes a part of a program, the zero value if it has no such part.
func read[T any](program posthouse.State, name string) (none T, err error) {
	v, ok := program[name]
	if !ok {
		return none, nil
	}
	var value T
	if err := json.Unmarshal(v.Data, &value); err != nil {
		return none, posthouse.Corrupt("part %s does not decode: %v", name, err)
	}
	return value, nil
}

// Read returns the requesters that a program's parts name, in the order in which
// they came. [posthouse.ErrCorrupt] if a part does not decode.
func Read(program posthouse.State) ([]posthouse.Requester, error) {
	list, err := read[[]posthouse.Requester](program, posthouse.RequestersPart)
	if err != nil {
		return nil, err
	}
	by, err := read[string](program, posthouse.SenderPart)
	if err != nil {
		return nil, err
	}
	if by != "" && !slices.ContainsFunc(list, func(r posthouse.Requester) bool { return r.Name == by }) {
		list = append(list, posthouse.Requester{Name: by, How: posthouse.KindInput})
	}
	return list, nil
}
