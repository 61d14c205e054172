package slack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/card"
)

// Times and bounds of answers.
const (
	window     = 5 * time.Minute         // how far the time of a request may be from ours
	ackTime    = 2500 * time.Millisecond // Slack waits 3 s
	decideTime = 30 * time.Second        // for the decision and the reply to it
	maxSeen    = 10_000                  // signatures that are remembered
)

// Receive implements [notify.Answerer] for the request URL. It answers once the decision is on record, or
// after 2.5 s.
func (a *App) Receive(w http.ResponseWriter, r *http.Request, d *notify.Desk) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := a.verify(r.Header, body); err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("payload") == "" {
		return posthouse.Invalid("payload", "is missing")
	}
	var c slack.InteractionCallback
	if err := json.Unmarshal([]byte(form.Get("payload")), &c); err != nil {
		return posthouse.Invalid("payload", "cannot be read")
	}
	view := a.take(r.Context(), &c, d)
	if view == nil {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(view)
}

// verify makes sure that Slack sent a request, now and for the first time. The error says nothing of why.
func (a *App) verify(h http.Header, body []byte) error {
	refused := &posthouse.Error{Code: posthouse.CodeForbidden, Message: "Slack did not send this"}
	if a.signing == "" {
		return refused
	}
	key, err := secret("signingSecretFile", a.signing, "")
	if err != nil {
		return err
	}
	stamp, signature := h.Get("X-Slack-Request-Timestamp"), h.Get("X-Slack-Signature")
	at, err := strconv.ParseInt(stamp, 10, 64)
	now := a.now()
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > window {
		return refused
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	if !hmac.Equal([]byte("v0="+hex.EncodeToString(mac.Sum(nil))), []byte(signature)) {
		return refused
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.seen[signature]; ok {
		return refused
	}
	for s, t := range a.seen {
		if now.Sub(t) > 2*window {
			delete(a.seen, s)
		}
	}
	if len(a.seen) >= maxSeen {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "there are too many requests"}
	}
	a.seen[signature] = now
	return nil
}

// take does what somebody asked for, and returns what a modal does then, nil to close it. It returns when a decision is
// on record, or refused, and after 2.5 s at the latest. A client that goes away does not undo its decision.
func (a *App) take(ctx context.Context, c *slack.InteractionCallback, d *notify.Desk) *slack.ViewSubmissionResponse {
	ready, gone := make(chan outcome), make(chan struct{})
	a.begin(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTime)
		defer cancel()
		var o outcome
		switch c.Type {
		case slack.InteractionTypeBlockActions:
			o.say = a.decide(ctx, c, d)
		case slack.InteractionTypeViewSubmission:
			o = a.submit(ctx, c, d)
		}
		select {
		case ready <- o:
		case <-gone:
			o.say = cmp.Or(o.say, o.late)
		}
		if o.say != "" && c.Channel.ID != "" {
			a.say(ctx, c, d, o.say)
		}
	})
	late := time.NewTimer(a.patience)
	defer late.Stop()
	select {
	case o := <-ready:
		return o.view
	case <-late.C:
	case <-ctx.Done():
	}
	close(gone)
	return nil
}

// say tells who pressed a button, and nobody else.
func (a *App) say(ctx context.Context, c *slack.InteractionCallback, d *notify.Desk, reply string) {
	client, err := a.client(false)
	if err == nil {
		options := message(reply, []slack.Block{section(reply)})
		_, err = client.PostEphemeralContext(ctx, c.Channel.ID, c.User.ID, options...)
	}
	if err != nil {
		d.Logger.Warn("somebody in Slack was not told what came of an answer", "member", c.User.ID, "reply", reply, "error", err)
	}
}

// decide decides what somebody pressed. It returns what to tell them, "" where the message itself says it.
func (a *App) decide(ctx context.Context, c *slack.InteractionCallback, d *notify.Desk) string {
	for _, action := range c.ActionCallback.BlockActions {
		name, ours := strings.CutPrefix(action.ActionID, actionPrefix)
		var p press
		if !ours || name == "open" {
			continue
		}
		_, fills := strings.CutPrefix(name, formPrefix)
		err := json.Unmarshal([]byte(action.Value), &p)
		decides, fillsIn := p.Verdict == posthouse.Approve || p.Verdict == posthouse.Reject, p.Verdict == "" || p.Verdict.TakesValue()
		if err != nil || p.Gate == "" || p.Shown.IsZero() || fills && !fillsIn || !fills && !decides {
			return "Nothing was decided: this button is of another version. Open the question."
		}
		person, stranger := a.person(c, d, p.Gate)
		switch {
		case person == "":
			return stranger
		case fills:
			return a.open(ctx, c, d, &p, person)
		}
		decision := posthouse.Decision{Gate: p.Gate, Verdict: p.Verdict, By: person, Actor: "slack:" + c.User.ID, Shown: p.Shown}
		g, err := d.Decide(ctx, p.Gate, decision)
		if err != nil {
			return a.refused(ctx, d, &decision, err)
		}
		if g.Decision == nil {
			return voted(g)
		}
		return ""
	}
	return ""
}

// voted says what a vote led to.
func voted(g *posthouse.Gate) string {
	return "Your vote is on record. It takes " + strconv.Itoa(g.Missing()) + " more to approve."
}

// person returns the name by which a member decides, or what to tell a stranger.
func (a *App) person(c *slack.InteractionCallback, d *notify.Desk, about posthouse.ID) (name, stranger string) {
	name = a.people[c.User.ID]
	if team := teamOf(c); team != a.workspace || name == "" {
		d.Logger.Warn("a member of Slack who is not known pressed a button", "member", c.User.ID, "workspace", team, "gate", about)
		return "", "Nothing was decided: Posthouse does not know you here. Ask an operator to add " + c.User.ID + " to the people of Slack."
	}
	return name, ""
}

// teamOf returns the workspace that a member is of.
func teamOf(c *slack.InteractionCallback) string {
	if c.User.TeamID != "" {
		return c.User.TeamID
	}
	return c.Team.ID
}

// refused says why nothing was decided.
func (a *App) refused(ctx context.Context, d *notify.Desk, given *posthouse.Decision, err error) string {
	e, ok := errors.AsType[*posthouse.Error](err)
	switch {
	case !ok:
		d.Logger.Error("an answer from Slack was not put on record", "gate", given.Gate, "person", given.By, "error", err)
		return "Nothing is on record: something went wrong. Try again."
	case errors.Is(err, posthouse.ErrVoted):
		return "Your vote was on record before."
	case e.Decision != nil && same(e.Decision, given):
		return "" // given twice
	case errors.Is(err, posthouse.ErrUnknown), errors.Is(err, posthouse.ErrUnavailable):
		return "It is not known whether your answer is on record: the store did not answer. Try again, which does no harm."
	case e.Decision != nil:
		return a.before(ctx, d, given.Gate, e.Decision)
	}
	s := "Nothing was decided: " + e.Message
	if e.Hint != "" && !strings.HasPrefix(e.Hint, "posthouse ") {
		s += ". " + e.Hint
	}
	return s + "."
}

// same reports whether two decisions of a gate say the same.
func same(a, b *posthouse.Decision) bool {
	return a.By == b.By && a.Verdict == b.Verdict && a.Reason == b.Reason && bytes.Equal(asLogged(a.Value), asLogged(b.Value))
}

// asLogged returns JSON in the form that the log gives it.
func asLogged(v json.RawMessage) []byte {
	var compact, b bytes.Buffer
	_ = json.Compact(&compact, v) // it is JSON, or empty
	json.HTMLEscape(&b, compact.Bytes())
	return b.Bytes()
}

// before says that a gate was decided before.
func (a *App) before(ctx context.Context, d *notify.Desk, about posthouse.ID, given *posthouse.Decision) string {
	s := "You decided nothing: it was decided before. " + card.Outcome(&notify.Decision{
		Verdict: given.Verdict, By: given.By, For: given.For, Reason: given.Reason, Successor: given.Successor, At: given.At,
	}) + "."
	if given.Successor != "" {
		s += changes(ctx, d, about, given.Successor)
	}
	return s
}

// changes says how the question that is asked now differs from the one that was shown.
func changes(ctx context.Context, d *notify.Desk, before, now posthouse.ID) string {
	was, err := d.Gate(ctx, before)
	if err != nil {
		return ""
	}
	is, err := d.Gate(ctx, now)
	if err != nil {
		return ""
	}
	old := map[string]string{}
	for _, f := range gate.Binding(was) {
		old[f.Name] = card.Value(f.Value)
	}
	var b strings.Builder
	for _, f := range gate.Binding(is) {
		value := card.Value(f.Value)
		if o, ok := old[f.Name]; !ok || o != value {
			b.WriteString("\n" + f.Label + ": " + short(o) + " → " + short(value))
		}
		delete(old, f.Name)
	}
	for _, f := range gate.Binding(was) {
		if o, ok := old[f.Name]; ok {
			b.WriteString("\n" + f.Label + ": " + short(o) + " → –")
		}
	}
	if was.Text != is.Text {
		b.WriteString("\n" + short(gate.Intent(was)) + " → " + short(gate.Intent(is)))
	}
	s := b.String()
	if len(s) > 2000 {
		s = strings.ToValidUTF8(s[:2000], "") + " …"
	}
	if s != "" {
		s = " What has changed:" + s
	}
	return s
}

func short(s string) string {
	switch {
	case s == "":
		return "–"
	case len(s) > 200:
		return strings.ToValidUTF8(s[:200], "") + " …"
	}
	return s
}
