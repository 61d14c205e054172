package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// Fingerprint returns a short stable hash of the graph's shape. It covers the nodes,
// what they are sent, where they lead, and the parts of the state with their types. It
// does not depend on the order in which they were added, or on what the functions do.
func (a *Graph) Fingerprint() string {
	lines := []string{"start " + describeTransitions(a.Start), "codec " + a.Codec.Name()}
	for _, n := range a.Order {
		line := "node " + quoteName(n.Name) + " " + describeTransitions(n.Transitions)
		lines = append(lines, line+n.Sub)
		if n.Join != nil {
			lines = append(lines, "join "+quoteName(n.Name)+" "+strings.Join(slices.Sorted(slices.Values(frontier.MapNames(n.Join.From, quoteName))), "|"))
		}
		if n.Input != nil {
			lines = append(lines, "input "+quoteName(n.Name)+" "+state.Describe(n.Input))
		}
		if n.Defer {
			lines = append(lines, "defer "+quoteName(n.Name))
		}
	}
	lines = append(lines, a.Schema.Describe()...)
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

func describeTransitions(ways []*Transition) string {
	var all []string
	for _, w := range ways {
		all = append(all, map[Kind]string{Edge: "", Route: "?", Routes: "*", Map: "!"}[w.Kind]+strings.Join(frontier.MapNames(w.To, quoteName), "|"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
