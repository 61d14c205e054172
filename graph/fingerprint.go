package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// fingerprint is a short stable hash of the graph's shape: its nodes, what they
// are sent, where they lead, and the parts of its state with their types. The
// order in which they were added does not count, nor does what the functions
// do.
func fingerprint[S any](a *App[S]) string {
	lines := []string{"start " + describeTransitions(a.start), "codec " + a.codec.Name()}
	for _, n := range a.order {
		line := "node " + quoteName(n.name) + " " + describeTransitions(n.transitions)
		if n.sub != nil {
			line += n.sub.shape()
		}
		lines = append(lines, line)
		if n.join != nil {
			lines = append(lines, "join "+quoteName(n.name)+" "+strings.Join(slices.Sorted(slices.Values(mapNames(n.join.from, quoteName))), "|"))
		}
		if n.input != nil {
			lines = append(lines, "input "+quoteName(n.name)+" "+state.Describe(n.input))
		}
		if n.opt.Defer {
			lines = append(lines, "defer "+quoteName(n.name))
		}
	}
	lines = append(lines, a.schema.Describe()...)
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%d:%s", len(l), l)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// quoteName quotes a name that could be taken for more than one word.
func quoteName(name string) string {
	if posthouse.ID(name).Validate() == nil {
		return name
	}
	return strconv.Quote(name)
}
