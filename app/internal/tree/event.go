package tree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
)

// EventLine returns one line about what was recorded, without its time and thread.
func EventLine(e *posthouse.Event) string {
	switch {
	case e.Checkpoint != nil:
		h := e.Checkpoint
		s := what(h) + ": " + status(h)
		if h.Branch != posthouse.MainBranch && h.Branch != "" {
			s += " on branch " + h.Branch
		}
		return s + after(": ", h.Error)
	case e.Gate != nil:
		return "question " + string(e.Gate.ID) + " " + e.Gate.Name + after(": ", e.Gate.Text)
	case e.Decision != nil:
		return "question " + string(e.Decision.Gate) + " " + Decision(e.Decision)
	case e.Vote != nil:
		return "question " + string(e.Vote.Gate) + " " + Vote(e.Vote)
	case e.Assignment != nil:
		return "question " + string(e.Assignment.Gate) + ": " + Assignment(e.Assignment)
	case e.Notice != nil:
		return "question " + string(e.Notice.Gate) + ": " + Notice(e.Notice)
	case e.Step != nil:
		return "step " + e.Step.Name + " is on record"
	case e.Signal != nil:
		return "signal " + e.Signal.Name + after(" by ", e.Signal.By)
	case e.Take != nil:
		return "signal " + e.Take.Name + " was taken"
	case e.Claim != nil && e.Claim.Unclaim:
		return "given back by " + e.Claim.Owner
	case e.Claim != nil:
		return "taken up by " + e.Claim.Owner
	case e.Removal != nil:
		n := strconv.Itoa(e.Removal.Count + e.Removal.Archived)
		return fmt.Sprintf("checkpoints removed: %s%s%s", n, after(", by ", e.Removal.By), after(": ", e.Removal.Reason))
	case e.Release != nil:
		return "released as version " + strconv.Itoa(int(e.Release.Version)) + after(", by ", e.Release.By)
	}
	return e.Kind.String()
}

// after returns text after a word, or nothing without the word.
func after(word, text string) string {
	if text == "" {
		return ""
	}
	return word + term.Clip(strings.TrimSpace(term.Visible(text)), 200)
}
