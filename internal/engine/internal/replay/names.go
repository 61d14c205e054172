package replay

import (
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Nested separates the names of a call and a step inside it.
const Nested = ">"

// Reserved begins the names under which models keep records of their own.
const Reserved = "$"

// IsOutermost reports whether a name is that of a call which the program makes directly in the
// execution.
func IsOutermost(name string) bool { return outermost(name) > 0 }

// outermost returns 1 for the name of an outermost call, 0 for another.
func outermost(name string) int {
	if strings.Contains(name, Nested) || strings.HasPrefix(name, Reserved) {
		return 0
	}
	return 1
}

// CallName returns how a call is shown: its name, from the second on with its number, as in
// "price[2]" for the third.
func CallName(name string, n uint32) string {
	if n == 0 {
		return name
	}
	return name + "[" + strconv.Itoa(int(n)) + "]"
}

// StepName is CallName of a recorded step.
func StepName(s *posthouse.Step) string { return CallName(s.Name, s.Occurrence) }
