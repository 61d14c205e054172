package env

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
)

// maxCandidates is how many of the ids that an argument stands for are listed.
const maxCandidates = 10

// A Candidate is an id that an argument may stand for.
type Candidate struct {
	Kind  string `json:"kind"` // thread, checkpoint, gate or task
	ID    string `json:"id"`
	About string `json:"about,omitempty"`
}

func (c Candidate) String() string {
	return strings.TrimSpace(c.Kind + " " + c.ID + "  " + term.Clip(term.Visible(c.About), 80))
}

// A SeveralError is an argument that stands for several ids.
type SeveralError struct {
	Err        *posthouse.Error
	Candidates []Candidate // at most ten
}

func (e *SeveralError) Error() string { return e.Err.Error() }

// Unwrap returns the error that the exit code is of.
func (e *SeveralError) Unwrap() error { return e.Err }

func several(arg string, found []Candidate) error {
	e := &SeveralError{
		Err:        &posthouse.Error{Code: posthouse.CodeInvalid, Message: fmt.Sprintf("%q stands for %s", arg, term.Number(len(found))+" ids"), Hint: "write more of the one that is meant"},
		Candidates: found[:min(len(found), maxCandidates)],
	}
	if len(found) > maxCandidates {
		e.Err.Hint += fmt.Sprintf("; %d more are not listed", len(found)-maxCandidates)
	}
	return e
}
