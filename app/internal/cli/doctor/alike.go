package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server/tokens"
)

// alike names tokens whose names are one person's, and those whose names mix alphabets.
func (x *examination) alike(all []tokens.Token) {
	for i := range all {
		for j := range all[:i] {
			if a, b := all[j].Name, all[i].Name; posthouse.SameName(a, b) {
				x.add("tokens", Warning, "if they are two people's, revoke one and make it again with another name",
					fmt.Sprintf("%q and %q count as one person", a, b))
			}
		}
	}
	mixed := map[string]bool{}
	for i := range all {
		if text.MixedScripts(all[i].Name) {
			mixed[all[i].Name] = true
		}
	}
	if len(mixed) > 0 {
		x.add("tokens", Warning, "look at each: a letter of another alphabet can make it look like somebody else's", "names that mix alphabets: "+strings.Join(slices.Sorted(maps.Keys(mixed)), ", "))
	}
}
