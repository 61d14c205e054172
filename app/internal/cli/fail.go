package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
)

// fail prints an error and returns its exit code.
func fail(e *env.Env, cmd *cobra.Command, err error) int {
	if code, ok := env.ExitCode(err); ok {
		return code // what there was to say was the answer
	}
	if errors.Is(err, context.Canceled) {
		return 130 // as shells report an interrupt
	}
	known, ok := errors.AsType[*posthouse.Error](err)
	if !ok {
		// Only cobra's own complaints about names and arguments have no code.
		known = &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: err.Error(),
			Hint: "see: " + cmd.CommandPath() + " --help",
		}
	}
	several, isSeveral := errors.AsType[*env.SeveralError](err)
	said := *known
	switch {
	case said.Hint != "":
	case said.Code == posthouse.CodeNotFound && said.Err == nil:
		said.Hint = "see what there is: posthouse inbox, posthouse thread list, posthouse checkpoint list"
	case errors.Is(said.Err, fs.ErrNotExist):
		said.Hint = "say where it is, or name the data directory with --data-dir"
	}
	said.Hint = e.Named(said.Hint)
	if e.Structured() {
		errTerm := term.Term{Out: e.Err, Format: e.Format}
		answer := map[string]any{"error": &said}
		if isSeveral {
			answer["candidates"] = several.Candidates
		}
		_ = errTerm.Encode(answer) // nothing is left to report a failure to
		return known.Code.ExitCode()
	}
	hint := said.Hint
	said.Hint = ""
	e.Note("%s %s", e.Paint(term.Bad, "error:"), strings.TrimPrefix(said.Error(), "posthouse: "))
	switch {
	case known.Decision != nil && known.Code == posthouse.CodeVoted:
		e.Note("  the %s", tree.Vote(known.Decision))
	case known.Decision != nil:
		e.Note("  the first decision: %s", tree.Decision(known.Decision))
	}
	for _, g := range known.Gates {
		e.Note("  %s", g)
	}
	if isSeveral {
		for _, c := range several.Candidates {
			e.Note("  %s", c)
		}
	}
	if hint != "" {
		e.Note("  %s", hint)
	}
	return known.Code.ExitCode()
}
