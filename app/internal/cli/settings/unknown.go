package settings

import (
	"regexp"
	"slices"
	"strings"
)

// An Unknown is a variable that looks like a setting and is not one.
type Unknown struct {
	Variable string `json:"variable"`
	Meant    string `json:"didYouMean,omitempty"` // the setting with the nearest name, if one is near
}

// String says so in a sentence.
func (u *Unknown) String() string {
	said := u.Variable + " is no setting"
	if u.Meant != "" {
		said += ": did you mean " + u.Meant + "?"
	}
	return said
}

// A Catalogue knows the variables that mean something.
type Catalogue struct{ names map[string]bool }

// NewCatalogue returns the catalogue of some flags' variables and of those that are no flag's.
func NewCatalogue(flags []string) *Catalogue {
	c := &Catalogue{names: map[string]bool{tokenVariable: true}}
	for _, f := range flags {
		c.names[VariableOf(f)] = true
	}
	for _, f := range secrets {
		if c.names[VariableOf(f)] {
			c.names[VariableOf(f)+fileSuffix] = true
		}
	}
	return c
}

// Unknown returns the variables of an environment, lines NAME=VALUE, that have our prefix and
// mean nothing.
func (c *Catalogue) Unknown(environ []string) []Unknown {
	set := map[string]bool{}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, Prefix) {
			set[name] = true
		}
	}
	unknown := []Unknown{}
	for name := range set {
		if !c.names[name] && !foreign.MatchString(name) && !ofService(name, set) {
			unknown = append(unknown, Unknown{Variable: name, Meant: c.nearest(name)})
		}
	}
	slices.SortFunc(unknown, func(a, b Unknown) int { return strings.Compare(a.Variable, b.Variable) })
	return unknown
}

// foreign are variables that are read, or set, by others than a server and its clients: what the
// commands of workers are told of a task, the version that is to be installed, and what our tests
// are told.
var foreign = regexp.MustCompile(`^POSTHOUSE_(TASK_(NAME|KEY|THREAD|STEP|ATTEMPT|ITERATION)|VERSION|LONG|REQUIRE_SERVICES|SEED|TRIP|FROZEN|(TEST|GOLDEN|DAMAGE|CHAOS|E2E|HOSTS|SITE|HISTORY|TRIAL|CONFORM)(_[A-Z0-9_]+)?)$`)

// service matches what Kubernetes sets for a Service, and containers for a link: the first group
// is the name.
var service = regexp.MustCompile(`^([A-Z0-9_]+?)_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// ofService reports whether a variable is set for a Service: one that is called posthouse, or
// another, as posthouse-headless, that has its host beside it.
func ofService(name string, set map[string]bool) bool {
	m := service.FindStringSubmatch(name)
	return m != nil && (m[1]+"_" == Prefix || set[m[1]+"_SERVICE_HOST"])
}

// nearest returns the setting with the nearest name, empty if no setting is near.
func (c *Catalogue) nearest(name string) string {
	words := []string{}
	for other := range c.names {
		words = append(words, strings.TrimPrefix(other, Prefix))
	}
	if like := Nearest(strings.TrimPrefix(name, Prefix), words); like != "" {
		return Prefix + like
	}
	return ""
}

// Nearest returns which of some words was meant by one, empty if no word is near.
func Nearest(word string, words []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, least := "", min(3, (len(word)+1)/2)
	for _, other := range words {
		d := distance(word, other)
		if d < least || d == least && best != "" && other < best {
			best, least = other, d
		}
	}
	return best
}

// maxWord is the longest word that others are compared with, in bytes.
const maxWord = 100

// distance returns how many letters must be added, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // of the row above, one to the left
		row[0] = i + 1
		for j := range len(b) {
			replace := before
			if a[i] != b[j] {
				replace++
			}
			before, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, replace)
		}
	}
	return row[len(b)]
}
