package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/card"
)

const (
	modalID  = "posthouse.modal" // the callback of our modals
	openTime = 2500 * time.Millisecond
)

// A draft is what a modal is about, as its private metadata.
type draft struct {
	press
	Channel string `json:"channel"` // where the button was: who pressed it is told there what the modal could not say
}

// An outcome is what comes of something that a person did.
type outcome struct {
	say  string                        // what they are told, beside the modal; "" for nothing
	view *slack.ViewSubmissionResponse // what the modal does; nil: it closes
	late string                        // what they are told if the modal is not there any more
}

// shown returns an outcome that the modal says, in the place of its form.
func shown(words string) outcome {
	if words == "" {
		return outcome{}
	}
	v := &slack.ModalViewRequest{Type: slack.VTModal, Title: plain("Posthouse"), Close: plain("Close"), Blocks: slack.Blocks{BlockSet: []slack.Block{section(words)}}}
	return outcome{view: slack.NewUpdateViewSubmissionResponse(v), late: words}
}

// faulty returns an outcome that the modal shows beside its inputs.
func faulty(wrong map[string]string) outcome {
	late := "Nothing was decided"
	for name, words := range wrong {
		wrong[name] = clipped(words)
		late += ": " + words
	}
	return outcome{view: slack.NewErrorsViewSubmissionResponse(wrong), late: late}
}

func clipped(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + " …"
	}
	return s
}

// open opens the modal of a button. It returns what to tell who pressed it, "" where the modal is open.
func (a *App) open(ctx context.Context, c *slack.InteractionCallback, d *notify.Desk, p *press, person string) string {
	g, err := d.Gate(ctx, p.Gate)
	switch {
	case err != nil:
		return a.refused(ctx, d, &posthouse.Decision{Gate: p.Gate, By: person}, err)
	case g.Decision != nil:
		return a.before(ctx, d, p.Gate, g.Decision)
	case g.Hash != p.Shown:
		return "Nothing was decided: this button is of another question. Open the question."
	}
	form, ok := newForm(g, p.Verdict)
	shows := card.Of(&notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: notify.Shown(g)}}, &limits)
	if !ok || !shows.Whole {
		return "This does not fit into a form here. Open the question to give it."
	}
	view, err := form.modal(shows, g, &draft{*p, c.Channel.ID})
	if err != nil {
		return "The form cannot be shown here. Open the question."
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	client, err := a.client(false)
	if err == nil {
		_, err = client.OpenViewContext(ctx, c.TriggerID, *view)
	}
	if err == nil {
		return ""
	}
	d.Logger.Warn("Slack opened no form", "gate", p.Gate, "member", c.User.ID, "error", err)
	switch codeOf(err) {
	case "expired_trigger_id", "exchanged_trigger_id", "trigger_expired", "trigger_exchanged":
		return "Slack opened no form, since it waits 3 seconds only. Press again."
	}
	return "Slack opened no form. Press again, or open the question."
}

// modal returns the view of a form.
func (f *form) modal(shows *card.Card, g *posthouse.Gate, about *draft) (*slack.ModalViewRequest, error) {
	metadata, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	title, submit := "Decide with a reason", "Decide"
	switch f.verdict {
	case posthouse.Edit:
		title, submit = "Approve with changes", "Approve with changes"
	case posthouse.Respond:
		title, submit = "Answer", "Answer"
	}
	blocks := []slack.Block{section(shows.Title)}
	for _, s := range []string{shows.Warning, shows.Text} {
		if s != "" {
			blocks = append(blocks, section(s))
		}
	}
	if f.payload == nil { // otherwise the inputs have it
		blocks = append(blocks, pairs(shows.Fields)...)
	}
	if f.verdict == "" {
		var options []*slack.OptionBlockObject
		for _, v := range []posthouse.Verdict{posthouse.Approve, posthouse.Reject} {
			if len(g.Verdicts) == 0 || slices.Contains(g.Verdicts, v) {
				options = append(options, slack.NewOptionBlockObject(string(v), plain(verdictLabels[v]), nil))
			}
		}
		blocks = append(blocks, slack.NewInputBlock(verdictBlock, plain("Decision"), nil, slack.NewRadioButtonsBlockElement(inputAction, options...)))
	}
	for i := range f.inputs {
		blocks = append(blocks, f.inputs[i].block(block(i)))
	}
	reason := slack.NewInputBlock(reasonBlock, plain("Reason"), nil, &slack.PlainTextInputBlockElement{Type: slack.METPlainTextInput, ActionID: inputAction, Multiline: true, MaxLength: maxInput})
	reason.Optional = f.verdict != ""
	blocks = append(blocks, reason)
	return &slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: modalID, PrivateMetadata: string(metadata),
		Title: plain(title), Submit: plain(submit), Close: plain("Cancel"), Blocks: slack.Blocks{BlockSet: blocks},
	}, nil
}

var verdictLabels = map[posthouse.Verdict]string{posthouse.Approve: "Approve", posthouse.Reject: "Reject"}

func (in *input) block(id string) slack.Block {
	var element slack.BlockElement
	if in.choices != nil {
		var options []*slack.OptionBlockObject
		for i, v := range in.choices {
			options = append(options, slack.NewOptionBlockObject(strconv.Itoa(i), plain(card.Value(v)), nil))
		}
		element = slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plain("Choose"), inputAction, options...)
	} else {
		element = &slack.PlainTextInputBlockElement{
			Type: slack.METPlainTextInput, ActionID: inputAction, InitialValue: in.initial, MaxLength: maxInput,
			Multiline: in.name == "" || len(in.initial) > 80 || slices.Contains([]byte(in.initial), '\n'),
		}
	}
	b := slack.NewInputBlock(id, plain(in.label), nil, element)
	b.Optional = in.optional
	hint := in.warning
	if in.choices == nil && !in.words {
		hint = strings.TrimPrefix(hint+"; JSON, as on record: text has quotes here", "; ")
	}
	if hint != "" {
		b.Hint = plain(hint)
	}
	return b
}

// submit decides what somebody filled in.
func (a *App) submit(ctx context.Context, c *slack.InteractionCallback, d *notify.Desk) outcome {
	if c.View.CallbackID != modalID {
		return outcome{}
	}
	var about draft
	if json.Unmarshal([]byte(c.View.PrivateMetadata), &about) != nil || about.Gate == "" || about.Shown.IsZero() {
		return shown("Nothing was decided: this form is of another version. Open the question.")
	}
	c.Channel.ID = about.Channel
	person, stranger := a.person(c, d, about.Gate)
	if person == "" {
		return shown(stranger)
	}
	decision := posthouse.Decision{Gate: about.Gate, Verdict: about.Verdict, By: person, Actor: "slack:" + c.User.ID, Shown: about.Shown}
	var values map[string]map[string]slack.BlockAction
	if c.View.State != nil {
		values = c.View.State.Values
	}
	g, err := d.Gate(ctx, about.Gate)
	if err != nil {
		return a.failed(ctx, d, nil, &decision, err)
	}
	form, ok := newForm(g, about.Verdict)
	if !ok {
		return shown("Nothing was decided: this form is of another version. Open the question.")
	}
	decision.Reason = values[reasonBlock][inputAction].Value
	wrong := map[string]string{}
	switch {
	case form.verdict.TakesValue():
		decision.Value, wrong = form.read(values)
	case about.Verdict == "":
		decision.Verdict = posthouse.Verdict(values[verdictBlock][inputAction].SelectedOption.Value)
		if decision.Verdict != posthouse.Approve && decision.Verdict != posthouse.Reject {
			wrong[verdictBlock] = "Choose one."
		}
	default:
		return shown("Nothing was decided: this form is of another version. Open the question.")
	}
	if len(wrong) > 0 {
		if g.Decision != nil {
			return shown(a.before(ctx, d, about.Gate, g.Decision))
		}
		return faulty(wrong)
	}
	after, err := d.Decide(ctx, about.Gate, decision)
	switch {
	case err != nil:
		return a.failed(ctx, d, form, &decision, err)
	case after.Decision == nil:
		return shown(voted(after))
	}
	return outcome{}
}

// failed says why what was filled in was not put on record: beside the input at fault, where another try may do.
func (a *App) failed(ctx context.Context, d *notify.Desk, f *form, decision *posthouse.Decision, err error) outcome {
	e, ok := errors.AsType[*posthouse.Error](err)
	broken, isValue := errors.AsType[*gate.SchemaError](err)
	switch {
	case f != nil && isValue:
		return faulty(map[string]string{f.at(broken.Path): cmp.Or(broken.Reason, "It does not fit.")})
	case f != nil && ok && e.Code == posthouse.CodeInvalid && e.Field == "reason":
		return faulty(map[string]string{reasonBlock: e.Message})
	case f != nil && ok && len(f.inputs) > 0 && e.Field == "value":
		return faulty(map[string]string{block(0): e.Message})
	}
	words := a.refused(ctx, d, decision, err)
	if f != nil && (!ok || errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, posthouse.ErrUnavailable)) {
		return faulty(map[string]string{reasonBlock: words}) // what was typed stays
	}
	return shown(words)
}
