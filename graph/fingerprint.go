package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// fingerprint is a short stable hash of the graph's shape: its nodes, where
// they lead, and the parts of its state. The order in which they were added
// does not count, nor does what the functions do.
func fingerprint[S any](a *App[S]) string {
	lines := []string{"start " + leads(a.start)}
	for _, n := range a.order {
		line := "node " + n.name + " " + leads(n.ways)
		if n.sub != nil {
			line += n.sub.shape()
		}
		lines = append(lines, line)
		if n.join != nil {
			lines = append(lines, "join "+n.name+" "+strings.Join(slices.Sorted(slices.Values(n.join.from)), "|"))
		}
	}
	for i := range a.plan.fields {
		f := &a.plan.fields[i]
		kind := f.typ.Kind().String()
		if f.rule == byTail {
			kind = "append"
		}
		if f.merge != mergeReplace {
			kind += " " + string(f.merge)
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
