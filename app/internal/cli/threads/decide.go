package threads

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
)

// A deciding is one decision: its flags, and from then on whom it is sent to.
type deciding struct {
	env     *env.Env
	verdict posthouse.VerdictInfo
	by      string
	reason  string
	value   string
	request string
	shown   string
	yes     bool
	effect  string // of redo: what is done again

	client *client.Client
	id     string          // of a gate, a checkpoint or an approval
	sends  json.RawMessage // what value holds, once it was read
	body   map[string]any  // of the request
}

// decideExamples are those of the commands' help.
func decideExamples(v posthouse.Verdict) string {
	switch v {
	case posthouse.Approve:
		return `  posthouse approve
  posthouse approve gate-019a...
  posthouse approve gate-019a... --by alice --reason "within the limit"
  posthouse approve 019a... --request "refund half of order 1234"`
	case posthouse.Reject:
		return `  posthouse reject gate-019a... --reason "already refunded in May"`
	case posthouse.Edit:
		return `  posthouse edit gate-019a... --value '{"amount": 20}'
  posthouse edit gate-019a... --value @edits.json`
	case posthouse.Respond:
		return `  posthouse respond gate-019a... --value '"tell them we call back"'`
	case posthouse.Happened:
		return `  posthouse happened gate-019a... --value '{"receipt": "R-17"}' --reason "it is on the statement"`
	case posthouse.Redo:
		return `  posthouse redo gate-019a...
  posthouse redo gate-019a... --redo transfer --yes`
	case posthouse.GiveUp:
		return `  posthouse give-up gate-019a... --reason "the customer cancelled"`
	case posthouse.Cancel:
		return `  posthouse cancel gate-019a... --reason "asked twice"`
	}
	return ""
}

// Decide returns the commands that decide a gate, one for each verdict that people give.
func Decide(e *env.Env) (cmds []*cobra.Command) {
	for _, v := range posthouse.GivenVerdicts() {
		cmds = append(cmds, decideCmd(e, v))
	}
	return cmds
}

func decideCmd(e *env.Env, verdict posthouse.Verdict) *cobra.Command {
	v := verdict.Info()
	d := deciding{env: e, verdict: v}
	cmd := &cobra.Command{
		Use:   string(verdict) + " [GATE]",
		Short: v.Summary(),
		Long: v.Summary() + `.

GATE is a gate's id, or that of a checkpoint that waits at one gate, or that of
an approval (apr_...) that a tool waits for on its caller's connection. Without one, a
person at a terminal picks from the inbox. The
decision is on record before anything it sets off, and there is one: who comes
second gets exit code 4 and the first decision. The command then waits for the
work that follows and prints the head of the branch, with what acted on the world
meanwhile; exit code 1 if it failed.
With an approval token (posthouse token approval) as the token it prints the decision.`,
		Example: decideExamples(verdict),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("by") && d.by == "" { // as from a variable that is not set
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "by", Message: "is empty", Hint: "leave it out to decide as the token's owner"}
			}
			if err := d.read(); err != nil {
				return err
			}
			if verdict == posthouse.Cancel { // of a thread it is another command
				return e.ByID(d.run)(cmd, args)
			}
			return e.Online(d.run)(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.by, "by", "", "who decides, if not the token's owner (needs the role operator)")
	env.ReasonFlag(cmd, &d.reason)
	f.StringVar(&d.shown, "shown", "", "hash of what was looked at: refused if the gate is about something else")
	env.YesFlag(cmd, &d.yes)
	if verdict == posthouse.Approve {
		f.StringVar(&d.request, "request", "", "approve this request instead of the one in the state")
	}
	if verdict == posthouse.Redo {
		f.StringVar(&d.effect, "redo", "", "the name of the effect that is done again: required with --yes and without a terminal")
	}
	if verdict.TakesValue() {
		f.StringVar(&d.value, "value", "", "JSON; - reads standard input, @FILE a file")
	}
	return cmd
}

// verb is the name of the command, of the route and of the verdict.
func (d *deciding) verb() string { return string(d.verdict.Verdict) }

// read builds the body from the flags.
func (d *deciding) read() (err error) {
	d.body = env.Members("by", d.by, "reason", d.reason, "request", d.request, "shown", d.shown)
	if d.verdict.Value == "" {
		return nil
	}
	d.sends, err = d.readValue()
	d.body["value"] = d.sends
	return err
}

// run decides what an id names.
func (d *deciding) run(ctx context.Context, c *client.Client, args []string) error {
	d.client = c
	token, err := d.env.Token()
	if err != nil {
		return err
	}
	d.id, err = given(ctx, d.env, c, args)
	switch {
	case err != nil:
		return err
	case tokens.IsApproval(token):
		return d.byToken(ctx)
	case isApproval(d.id):
		return d.approval(ctx)
	}
	return d.gate(ctx)
}

func (d *deciding) readValue() (json.RawMessage, error) {
	if d.value == "" {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "value", Message: "is required: what " + d.verb() + " says",
			Hint: `give JSON: --value '{"amount": 20}', or --value @file.json`,
		}
	}
	return d.env.ReadJSON("value", d.value, `text needs quotes of its own: --value '"like this"'`)
}

// gate decides a gate, or the one at which a checkpoint waits, and follows the work.
func (d *deciding) gate(ctx context.Context) error {
	path := "/api/checkpoints"
	if strings.HasPrefix(d.id, "gate-") {
		path = "/api/gates"
	}
	if ok, err := d.confirm(ctx); err != nil || !ok {
		return d.orThread(ctx, err)
	}
	if d.shown != "" {
		d.body["shown"] = d.shown
	}
	var answer outcome
	if err := d.client.Do(ctx, http.MethodPost, path+client.Path(d.id, d.verb()), nil, d.body, &answer); err != nil {
		return d.orThread(ctx, err)
	}
	return answer.print(ctx, d.env, d.client)
}

// orThread returns err, with what to type instead if the unknown id is a thread's.
func (d *deciding) orThread(ctx context.Context, err error) error {
	var e *posthouse.Error
	var t posthouse.ThreadInfo
	if !errors.Is(err, posthouse.ErrNotFound) || !errors.As(err, &e) || d.client.Get(ctx, client.ThreadPath(d.id), nil, &t) != nil {
		return err
	}
	said := *e
	if b, _ := t.Branch(""); d.verdict.Verdict != posthouse.Cancel && b.Status == posthouse.StatusInterrupted && len(t.Waiting) == 0 {
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Head: b.Head, Message: "thread " + d.id + " is interrupted: it asks once it is resumed",
			Hint: "resume first: posthouse resume " + env.Quoted(d.id),
		}
	}
	said.Hint = d.id + " is a thread; its open gates: posthouse inbox --thread " + env.Quoted(d.id)
	if d.verdict.Verdict == posthouse.Cancel {
		said.Hint = d.id + " is a thread: posthouse thread cancel " + env.Quoted(d.id)
	}
	return &said
}

// byToken decides with an approval token, which cannot show what it is about.
func (d *deciding) byToken(ctx context.Context) error {
	e := d.env
	if d.by != "" {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "by", Message: "goes with an access token, not with an approval token", Hint: "leave --by out: the token says for whom it decides"}
	}
	if ok, err := e.Confirm(d.yes || !e.Interactive, "%s %s?", d.verb(), d.id); err != nil || !ok {
		return err
	}
	d.body["verdict"] = d.verb()
	return env.Ask(ctx, e, d.client, http.MethodPost, "/api/gates"+client.Path(d.id, "decide-by-token"), nil, d.body, func(t *server.TokenDecision) {
		if t.Decision != nil {
			e.Line("%s", tree.Decision(t.Decision))
			return
		}
		e.Line("%s", tree.Vote(t.Vote))
		e.Line("it is on record; approvals missing: %d", t.Missing)
	})
}

// approval answers an approval that waits in a session of the server.
func (d *deciding) approval(ctx context.Context) error {
	if d.verdict.Tool == "" || d.request != "" || d.shown != "" {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: "an approval takes " + posthouse.JoinVerdicts(posthouse.GateVerdicts(), " and ") + ", without --request and --shown", Hint: "reject it",
		}
	}
	if ok, err := d.confirm(ctx); err != nil || !ok {
		return err
	}
	var g posthouse.Gate
	if err := d.client.Do(ctx, http.MethodPost, "/api/approvals"+client.Path(d.id, d.verdict.Tool), nil, d.body, &g); err != nil {
		return err
	}
	return d.env.Answer(&g, func() { d.env.Line("%s", tree.Decision(g.Decision)) })
}

// namesEffect refuses to do an effect again that was not named: --yes was typed before anybody looked.
func (d *deciding) namesEffect(g *posthouse.Gate) error {
	effect := gate.EffectOf(g)
	switch {
	case d.effect == effect, d.effect == "" && !d.yes && d.env.Interactive, !g.AsksOutcome():
		return nil
	case d.effect == "":
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "redo", Message: "is required: it names the effect that is done again, perhaps for the second time",
			Hint: "look for it where it acts, then: posthouse redo " + d.id + " --redo " + env.Quoted(effect) + " --yes",
		}
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "redo", Message: "is " + d.effect + ", and gate " + string(g.ID) + " asks about " + effect, Hint: "look at it: posthouse gate show " + d.id,
	}
}

// confirm shows a person what a decision is about, and asks for it. A gate that is
// decided already, or several at once, are not asked: the server says so at once.
func (d *deciding) confirm(ctx context.Context) (bool, error) {
	e := d.env
	errTerm := e.Term
	errTerm.Out = e.Err
	var given text.Marks
	given.Add(d.reason, d.by)
	given.AddJSON(d.sends)
	warn(&errTerm, &given)
	if d.verdict.Verdict != posthouse.Redo && (d.yes || !e.Interactive) {
		return true, nil
	}
	q, err := openQuestion(ctx, d.client, d.id)
	if d.verdict.Verdict == posthouse.Redo {
		if err == nil && q != nil {
			err = d.namesEffect(&q.gate)
		}
		if err != nil || d.yes || !e.Interactive {
			return err == nil, err
		}
	}
	if err != nil || q == nil {
		return err == nil, err
	}
	q.show(&errTerm)
	if d.sends != nil {
		errTerm.Line("\n%s with", d.verb())
		errTerm.Indented(d.sends)
	}
	if d.shown == "" && !isApproval(d.id) {
		d.shown = q.gate.Hash.String() // what was shown is what is decided
	}
	if a, ok := q.gate.Answer(d.verdict.Verdict); ok {
		errTerm.Line("\n%s: %s", a.Label, a.Does)
		if a.Risk != "" {
			errTerm.Line("%s", errTerm.Paint(term.Bad, a.Risk))
		}
	}
	ok, err := e.Confirm(false, "\n%s %s?", d.verb(), term.Clip(term.Visible(strings.TrimRight(headline(&q.gate), "?. ")), 80))
	if err == nil && !ok {
		e.Note("nothing was decided")
	}
	return ok, err
}
