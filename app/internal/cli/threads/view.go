package threads

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server"
)

// showCheckpoint prints a checkpoint with its decision, metadata and state.
func showCheckpoint(out *term.Term, c *server.Checkpoint) {
	showHeader(out, &c.Header)
	if c.Decision != nil {
		out.Fields("decision", tree.Decision(c.Decision))
	}
	for _, k := range slices.Sorted(maps.Keys(c.Metadata)) {
		out.Fields("meta", k+" = "+c.Metadata[k])
	}
	if c.TraceID != "" {
		out.Fields("trace", strings.TrimSpace(c.TraceID+"  "+c.TraceURL))
	}
	showSteps(out, c.Steps)
	if len(c.State) > 0 {
		out.Line("")
		out.Indented(c.State)
	}
}

// showSteps prints what is told of steps and their checkpoint.
func showSteps(out *term.Term, steps []*server.Step) {
	for _, e := range steps {
		switch {
		case e.Step == nil:
			out.Fields("attempts", tree.Attempt(e.Checkpoint.Attempts, e.LastError))
		case !strings.HasSuffix(e.Step.Name, "$note"):
			out.Line("%s", tree.StepLine(&e.Event))
		}
		if line := resultLine(e); line != "" {
			out.Line("  %s", line)
		}
		for _, line := range tree.NoteLines(e.Notes) {
			out.Line("  %s", line)
		}
	}
}

// maxResult bounds how much of a result is printed, in bytes.
const maxResult = 200

// resultLine says what a step returned, in one line; "" where that was not asked for, or is nothing.
func resultLine(s *server.Step) string {
	switch {
	case s.ResultState != "":
		return "result " + term.Size(int64(s.ResultSize)) + ", " + string(s.ResultState)
	case len(s.Result) > maxResult:
		return "result " + text.Cut(string(s.Result), maxResult) + " (" + term.Size(int64(s.ResultSize)) + ")"
	case len(s.Result) > 0:
		return "result " + string(s.Result)
	}
	return ""
}

func showHeader(out *term.Term, h *posthouse.Header) {
	status := string(h.Status)
	if h.Status == posthouse.StatusSaved {
		status = "saved"
	}
	from := ""
	if h.Source != nil {
		from = string(h.Source.ID) + " of thread " + h.Source.Thread
	}
	var gates []string
	for _, g := range h.Gates {
		gates = append(gates, string(g))
	}
	out.Fields(
		"checkpoint", string(h.ID), "parent", string(h.Parent), "thread", h.Thread, "branch", h.Branch,
		"coordination", h.Coordination, "kind", h.Kind, "agent", h.Agent, "node", h.Node, "next", strings.Join(h.Next, ", "),
		"status", status, "error", h.Error, "gates", strings.Join(gates, ", "), "forked from", from, "by", h.By,
		"made", tree.Time(h.CreatedAt), "took", tree.Took(h.Began, h.CreatedAt), "size", term.Size(int64(h.Size)), "hash", h.Hash.String(),
	)
}

// badAnswer is the error for an answer that is not what the route promises.
func badAnswer(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "the server's answer does not fit together", Err: err,
		Hint: "is it a posthouse server of this version?",
	}
}

// problemOf returns the error that an answer has beside its result, or nil.
func problemOf(document json.RawMessage) error {
	if document == nil {
		return nil
	}
	return client.Problem(document)
}

// after returns the text with a mark before it, or "" for an empty text.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// branchFlag adds --branch, for commands that work on the head of one.
func branchFlag(cmd *cobra.Command, branch *string) {
	cmd.Flags().StringVar(branch, "branch", "", "branch of the thread (default main)")
}
