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

// Read returns the requesters that a program's parts name, in the order in which
// they came. [posthouse.ErrCorrupt] if a part does not decode.
func Read(program posthouse.State) ([]posthouse.Requester, error) {
	var list []posthouse.Requester
	if v, ok := program[posthouse.RequestersPart]; ok {
		if err := json.Unmarshal(v.Data, &list); err != nil {
			return nil, posthouse.Corrupt("part %s does not decode: %v", posthouse.RequestersPart, err)
		}
	}
	v, ok := program[posthouse.SenderPart]
	if !ok {
		return list, nil
	}
	var by string
	if err := json.Unmarshal(v.Data, &by); err != nil {
		return nil, posthouse.Corrupt("part %s does not decode: %v", posthouse.SenderPart, err)
	}
	if by != "" && !slices.ContainsFunc(list, func(r posthouse.Requester) bool { return r.Name == by }) {
		list = append(list, posthouse.Requester{Name: by, How: posthouse.KindInput})
	}
	return list, nil
}
