package natshint

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

const (
	defaultPrefix = "posthouse"
	maxPrefix     = 100
)

func checkPrefix(p string) error {
	if p == "" || len(p) > maxPrefix || strings.ContainsFunc(p, func(r rune) bool { return !plain(r) }) {
		return posthouse.Invalid("Prefix", "%.40q must be 1 to %d letters, digits, _ and -", p, maxPrefix)
	}
	return nil
}

// subjectOf returns the subject of a gate's hint.
func (q *Queue) subjectOf(task, group string, gate posthouse.ID) string {
	return q.prefixOf(task, group) + "." + token(string(gate))
}

// prefixOf returns what the subjects of a task and a group begin with.
func (q *Queue) prefixOf(task, group string) string {
	return q.prefix + ".hint." + token(task) + "." + token(group)
}

// token writes a name as a part of a subject. Each name has one form, and no two the same.
func token(name string) string {
	if name == "" {
		return "="
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
