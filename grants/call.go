package grants

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// callOfStep splits a step's name into the call that the record belongs to, its number, and
// what the record is; "" is the call's own result. A record is the runtime's if the last
// part of its name begins with "$": the calls of a failure's handler are named "$failed>pay".
func callOfStep(s *posthouse.StepInfo) (name string, n uint32, what string) {
	i := strings.LastIndexByte(s.Name, '>')
	if last := s.Name[i+1:]; strings.HasPrefix(last, "$") {
		if i < 0 {
			return "", 0, last
		}
		name, n = callOf(s.Name[:i])
		return name, n, last
	}
	return s.Name, s.Occurrence, ""
}

// callOf splits a call, as names within it spell it, into its name and its number. The
// number follows the first call in brackets.
func callOf(call string) (name string, n uint32) {
	i := strings.LastIndexByte(call, '[')
	if i <= 0 || !strings.HasSuffix(call, "]") {
		return call, 0
	}
	for _, c := range call[i+1 : len(call)-1] {
		if c < '0' || c > '9' || n > 1<<28 {
			return call, 0
		}
		n = n*10 + uint32(c-'0')
	}
	return call[:i], n
}

// IsResult reports whether a record is the result of a call, and not what the runtime keeps within
// one.
func IsResult(s *posthouse.StepInfo) bool {
	_, _, what := callOfStep(s)
	return what == ""
}
