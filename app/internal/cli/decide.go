package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
)

// A deciding is the flags of one decision.
type deciding struct {
	verb    string
	by      string
	reason  string
	value   string
	request string
	shown   string
	yes     bool
	sends   json.RawMessage // what value holds, once it was read
}

func (a *app) decideCmds() []*cobra.Command {
	return []*cobra.Command{
		a.decideCmd("approve", "Approve: go on as proposed", `  posthouse approve gate-019a...
  posthouse approve gate-019a... --by alice --reason "within the limit"
  posthouse approve 019a... --request "refund half of order 1234"`),
		a.decideCmd("reject", "Reject: do not", `  posthouse reject gate-019a... --reason "already refunded in May"`),
		a.decideCmd("edit", "Edit: go on with changed values", `  posthouse edit gate-019a... --value '{"amount": 20}'
  posthouse edit gate-019a... --value @edits.json`),
		a.decideCmd("respond", "Respond: answer in place of the action", `  posthouse respond gate-019a... --value '"tell them we call back"'`),
		a.decideCmd("cancel", "Cancel: withdraw the question", `  posthouse cancel gate-019a... --reason "asked twice"`),
	}
}

func (a *app) decideCmd(verb, short, example string) *cobra.Command {
	d := deciding{verb: verb}
	cmd := &cobra.Command{
		Use:   verb + " GATE",
		Short: short,
		Long: short + `.

GATE is a gate's id, or that of a checkpoint that waits at one gate, or that of
an approval (apr_...) that a tool waits for on its caller's connection. The
decision is on record before anything it sets off, and there is one: who comes
second gets exit code 4 and the first decision. The command then waits for the
work that follows and prints the head of the branch, with what acted on the world
meanwhile; exit code 1 if it failed.
With an approval token (posthouse token approval) as the token it prints the decision.`,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("by") && d.by == "" { // as from a variable that is not set
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "by", Message: "is empty", Hint: "leave it out to decide as the token's owner"}
			}
			return a.decide(cmd.Context(), args[0], &d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.by, "by", "", "who decides, if not the token's owner (needs the role operator)")
	reasonFlag(cmd, &d.reason)
	f.StringVar(&d.shown, "shown", "", "hash of what was looked at: refused if the gate is about something else")
	yesFlag(cmd, &d.yes)
	switch verb {
	case "approve":
		f.StringVar(&d.request, "request", "", "approve this request instead of the one in the state")
	case "edit", "respond":
		f.StringVar(&d.value, "value", "", "JSON; - reads standard input, @FILE a file")
	}
	return cmd
}

func (a *app) decide(ctx context.Context, id string, d *deciding) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	body := members("by", d.by, "reason", d.reason, "request", d.request, "shown", d.shown)
	if d.verb == "edit" || d.verb == "respond" {
		if d.sends, err = a.decisionValue(d); err != nil {
			return err
		}
		body["value"] = d.sends
	}
	if tokens.IsApproval(c.Token) {
		return a.decideByToken(ctx, c, id, d, body)
	}
	if isApproval(id) {
		return a.decideApproval(ctx, c, id, d, body)
	}
	path := "/api/checkpoints"
	if strings.HasPrefix(id, "gate-") {
		path = "/api/gates"
	}
	if ok, err := a.confirmDecision(ctx, c, id, d); err != nil || !ok {
		return a.orThread(ctx, c, id, d, err)
	}
	if d.shown != "" {
		body["shown"] = d.shown
	}
	var answer followed
	if err := c.Do(ctx, http.MethodPost, path+rest.Path(id, d.verb), nil, body, &answer); err != nil {
		return a.orThread(ctx, c, id, d, err)
	}
	return a.printOutcome(ctx, c, &answer)
}

// orThread returns err, with what to type instead if the unknown id is a thread's.
func (a *app) orThread(ctx context.Context, c *rest.Client, id string, d *deciding, err error) error {
	var e *posthouse.Error
	var t posthouse.ThreadInfo
	if !errors.Is(err, posthouse.ErrNotFound) || !errors.As(err, &e) || c.Get(ctx, rest.Thread(id), nil, &t) != nil {
		return err
	}
	said := *e
	if b, _ := t.Branch(""); d.verb != "cancel" && b.Status == posthouse.StatusInterrupted && len(t.Waiting) == 0 {
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Head: b.Head, Message: "thread " + id + " is interrupted: it asks once it is resumed",
			Hint: "resume first: posthouse resume " + quoted(id),
		}
	}
	said.Hint = id + " is a thread; its open gates: posthouse inbox --thread " + quoted(id)
	if d.verb == "cancel" {
		said.Hint = id + " is a thread: posthouse thread cancel " + quoted(id)
	}
	return &said
}

// decideByToken decides with an approval token, which cannot show what it is about.
func (a *app) decideByToken(ctx context.Context, c *rest.Client, id string, d *deciding, body map[string]any) error {
	if d.by != "" {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "by", Message: "goes with an access token, not with an approval token", Hint: "leave --by out: the token says for whom it decides"}
	}
	if ok, err := a.Confirm(d.yes || !a.Interactive, "%s %s?", d.verb, id); err != nil || !ok {
		return err
	}
	body["verdict"] = d.verb
	return ask(ctx, a, c, http.MethodPost, "/api/gates"+rest.Path(id, "decide-by-token"), nil, body, func(t *server.TokenDecision) {
		if t.Decision != nil {
			a.Line("%s", tree.Decision(t.Decision))
			return
		}
		a.Line("%s", tree.Vote(t.Vote))
		a.Line("it is on record; approvals missing: %d", t.Missing)
	})
}

// decideApproval answers an approval that waits in a session of the server.
func (a *app) decideApproval(ctx context.Context, c *rest.Client, id string, d *deciding, body map[string]any) error {
	verb := d.verb
	switch {
	case verb == "reject":
		verb = "deny"
	case verb == "cancel", d.request != "", d.shown != "":
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: "an approval takes approve, reject, edit and respond, without --request and --shown", Hint: "reject it",
		}
	}
	if ok, err := a.confirmDecision(ctx, c, id, d); err != nil || !ok {
		return err
	}
	var g posthouse.Gate
	if err := c.Do(ctx, http.MethodPost, "/api/approvals"+rest.Path(id, verb), nil, body, &g); err != nil {
		return err
	}
	return a.answer(&g, func() { a.Line("%s", tree.Decision(g.Decision)) })
}

func (a *app) decisionValue(d *deciding) (json.RawMessage, error) {
	if d.value == "" {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "value", Message: "is required: what " + d.verb + " says",
			Hint: `give JSON: --value '{"amount": 20}', or --value @file.json`,
		}
	}
	return a.readJSON("value", d.value, `text needs quotes of its own: --value '"like this"'`)
}
