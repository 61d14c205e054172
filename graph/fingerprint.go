package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// fingerprint is a short stable hash of the graph's shape: its nodes, where
// they lead, and the parts of its state. The order in which they were added
// does not count, nor does what the functions do.
func fingerprint[S any](a *App[S]) string {
	lines := []string{"start " + a.start.leads()}
	for _, n := range a.order {
		lines = append(lines, "node "+n.name+" "+n.way.leads())
	}
	for i := range a.plan.fields {
		f := &a.plan.fields[i]
		kind := f.typ.Kind().String()
		if f.rule == byTail {
			kind = "append"
		}
		lines = append(lines, "part "+f.part+" "+kind)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%d:%s", len(l), l)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
