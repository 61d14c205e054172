package threadlog

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// keepNextPart is the part of a program that names the source of the fork which keeps its next nodes.
// Forks of that fork have it, too, and other sources.
const keepNextPart = "$keepnext"

// KeepNext returns the part that has a fork of a source keep the next nodes that the source chose.
func KeepNext(source posthouse.ID) posthouse.Part {
	data, _ := json.Marshal(source)
	return posthouse.Part{Name: keepNextPart, Codec: posthouse.JSON.Name(), Data: data}
}

// KeepsNext reports whether a fork, with its program, keeps the next nodes that its source chose.
func KeepsNext(h *posthouse.Header, program posthouse.State) bool {
	var of posthouse.ID
	v, ok := program[keepNextPart]
	return ok && h.Source != nil && json.Unmarshal(v.Data, &of) == nil && of == h.Source.ID
}
