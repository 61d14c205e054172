package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/requesters"
)

// JoinParts joins two changes of parts that follow each other into one. It may
// change old.
func JoinParts(old, new []posthouse.Part) []posthouse.Part {
	if len(old) == 0 {
		return slices.Clone(new)
	}
	for j := range new {
		n := &new[j]
		i := slices.IndexFunc(old, func(p posthouse.Part) bool { return p.Name == n.Name })
		switch {
		case i < 0:
			old = append(old, *n)
		case n.Name == posthouse.RequestersPart:
			old[i].Data = joinRequesters(old[i].Data, n.Data)
		case !n.Splice:
			old[i] = *n
		case old[i].Splice:
			// Both appended to an array, and keep the same end of it.
			kept := old[i].Data[:n.Prefix-old[i].Prefix]
			old[i].Data = append(slices.Clip(kept), n.Data...)
		default:
			old[i].Data = slices.Concat(old[i].Data[:n.Prefix], n.Data, old[i].Data[len(old[i].Data)-n.Suffix:])
		}
	}
	return old
}

// joinRequesters joins what two calls say of who changed what they hand back.
func joinRequesters(a, b []byte) []byte {
	var list, more []posthouse.Requester
	if json.Unmarshal(a, &list) != nil || json.Unmarshal(b, &more) != nil {
		return a // the commit reports it
	}
	for _, r := range more {
		list = requesters.Add(list, r)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return a
	}
	return data
}

// ApplyParts changes parts in place.
func ApplyParts(s posthouse.State, parts []posthouse.Part) error {
	for _, p := range parts {
		v := s[p.Name]
		switch {
		case p.Drop:
			delete(s, p.Name)
			continue
		case p.Splice && p.Prefix+p.Suffix > len(v.Data):
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "part " + p.Name, Message: fmt.Sprintf("keeps %d bytes of %d", p.Prefix+p.Suffix, len(v.Data))}
		case p.Splice:
			p.Data = slices.Concat(v.Data[:p.Prefix], p.Data, v.Data[len(v.Data)-p.Suffix:])
		}
		s[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
	}
	return nil
}

// Overlay returns a copy of a state with parts that were written in full.
func Overlay(s posthouse.State, parts []posthouse.Part) posthouse.State {
	s = s.Clone()
	if s == nil {
		s = posthouse.State{}
	}
	for _, p := range parts {
		s[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
	}
	return s
}
