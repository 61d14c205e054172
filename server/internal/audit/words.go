package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/transfer"
)

// Where substitutes are on record.
const substitutes = "$substitutes"

// worker begins the names of workers on record.
const worker = "worker:"

const (
	maxWhat  = 300 // bytes of what an act was about
	maxValue = 60  // bytes of one value in it
	maxParts = 4   // values in it
)

// decided are the words for verdicts on questions to people.
var decided = map[posthouse.Verdict]string{
	posthouse.Approve: "approved", posthouse.Reject: "rejected", posthouse.Edit: "edited", posthouse.Respond: "answered",
	posthouse.Expire: "let expire", posthouse.Cancel: "withdrew",
	posthouse.Happened: "said that it was done:", posthouse.Redo: "had it done again:", posthouse.GiveUp: "gave up",
}

// voted are the words for votes.
var voted = map[posthouse.Verdict]string{
	posthouse.Approve: "voted to approve", posthouse.Reject: "voted to reject", posthouse.Edit: "voted to approve with changes", posthouse.Respond: "voted for an answer",
	posthouse.Redo: "voted to do it again:",
}

// made are the words for checkpoints that people made.
var made = map[string]string{
	posthouse.KindSave: "saved", posthouse.KindUpdate: "changed", posthouse.KindFork: "forked", posthouse.KindCancel: "cancelled",
	posthouse.KindMigrate: "moved to another version", posthouse.KindRestartStep: "began again",
}

// signals are the words for signals of the runtime, and what they are about.
var signals = map[string][2]string{
	posthouse.SignalCancel: {"asked to cancel", "the run"}, posthouse.SignalHold: {"held", "the thread"}, posthouse.SignalUnhold: {"let go on", "the thread"},
	posthouse.SignalImported: {"imported", "the thread: its approvals from before end here"}, posthouse.SignalPutBack: {"put back", "the store: approvals from before are asked about"},
	string(authlog.Login): {"logged in", ""}, string(authlog.Logout): {"logged out", ""}, string(authlog.Refused): {"was refused", ""},
	string(authlog.TokenMade): {"made a token", ""}, string(authlog.TokenRevoked): {"revoked a token", ""}, string(authlog.TokenConfirmed): {"confirmed a token", ""},
}

// tell says in words who did what.
func (w *walk) tell(act *Act) error {
	r := act.Record
	switch {
	case r.Gate != nil:
		act.Did, act.Gate, act.Question = "asked", r.Gate.ID, gate.Intent(r.Gate)
		act.What = act.Question
	case r.Decision != nil:
		return w.decision(act, r.Decision)
	case r.Vote != nil:
		act.Did = cmp.Or(voted[r.Vote.Verdict], "voted: "+string(r.Vote.Verdict)) + instead(r.Vote)
		act.Reason = r.Vote.Reason
		return w.about(act, r.Vote.Gate, "")
	case r.Assignment != nil:
		return w.assignment(act, r.Assignment)
	case r.Signal != nil:
		act.Did, act.What = signalled(r.Signal)
		act.Reason = reasonOf(r.Signal)
	case r.Checkpoint != nil:
		return w.change(act, r.Checkpoint)
	case r.Step != nil:
		return w.effect(act, r.Step)
	case r.Release != nil:
		act.Did, act.Reason = "released", r.Release.Reason
		act.What = "version " + strconv.FormatUint(uint64(r.Release.Version), 10) + " of the thread"
	case r.Removal != nil:
		act.Did, act.What, act.Reason = "removed", removed(r.Removal), r.Removal.Reason
	}
	return nil
}

// instead says in the place of whom somebody decided.
func instead(d *posthouse.Decision) string {
	if d.For == "" || d.For == d.By {
		return ""
	}
	return " in place of " + d.For
}

// about names the question that an act is about, after some words.
func (w *walk) about(act *Act, id posthouse.ID, words string) error {
	g, err := w.gate(id)
	if err != nil {
		return err
	}
	act.Gate = id
	if g != nil {
		act.Question = gate.Intent(g)
	}
	act.What = cut(joined(": ", words, cmp.Or(act.Question, "question "+string(id))), maxWhat)
	return nil
}

func (w *walk) decision(act *Act, d *posthouse.Decision) error {
	g, err := w.gate(d.Gate)
	if err != nil {
		return err
	}
	act.Reason = w.why(d, g)
	switch {
	case g == nil || g.AsksPeople():
		verdict := d.Verdict
		if g != nil {
			verdict = g.Said(verdict)
		}
		act.Did = cmp.Or(decided[verdict], string(verdict)) + instead(d)
		if typed, ok := byEdit(d, g); ok {
			act.Did, act.Reason = "approved by an edit", typed
		}
		return w.about(act, d.Gate, "")
	case g.Kind == posthouse.GateTask:
		act.Did, act.Reason = ofTask(d)
		act.What = "task " + strconv.Quote(g.Name)
		if g.Call != nil {
			act.What = "task " + g.Call.Task
		}
	default:
		act.Did, act.What = cmp.Or(decided[d.Verdict], string(d.Verdict)), "the wait "+g.Name
		if g.Kind == posthouse.GateSignal {
			act.What = "the wait for signal " + g.Signal
		}
	}
	return nil
}

// why returns the reason of a decision as all lists of questions tell it.
func (w *walk) why(d *posthouse.Decision, g *posthouse.Gate) string {
	if g == nil {
		return d.Reason
	}
	var made []*posthouse.Header
	for i := range w.entryNow.Records {
		if h := w.entryNow.Records[i].Checkpoint; h != nil {
			made = append(made, h)
		}
	}
	return inbox.WhyIn(d, g.Branch, made...)
}

// byEdit reports whether the edit of the gate before approved this one, and returns the reason that was
// typed for it. The runtime writes which gate was edited before that.
func byEdit(d *posthouse.Decision, g *posthouse.Gate) (typed string, ok bool) {
	if g == nil || g.Supersedes == "" || d.Verdict != posthouse.Approve {
		return "", false
	}
	return strings.CutPrefix(d.Reason, text.EditedTo(string(g.Supersedes)))
}

// ofTask says what became of a task by a worker, or by whoever changed it, and why.
func ofTask(d *posthouse.Decision) (did, why string) {
	paused, isPause := strings.CutPrefix(d.Reason, "paused: ")
	switch {
	case d.Verdict == posthouse.Respond:
		return "finished", d.Reason
	case d.Verdict == posthouse.Reject:
		return "failed", d.Reason
	case d.Successor == "":
		return "withdrew", d.Reason
	case isPause:
		return "paused", paused
	case strings.HasPrefix(d.By, worker):
		return "did not finish", d.Reason
	}
	return "sent on", d.Reason
}

func (w *walk) assignment(act *Act, a *posthouse.Assignment) error {
	act.Reason = a.Reason
	to := "to " + strings.Join(a.To, ", ")
	switch {
	case a.Substitution != "":
		act.Did, to = "had a substitute", strings.Join(a.To, ", ")
	case a.Escalation:
		act.Did = "passed on when it was due"
	case a.TakesBack != 0:
		act.Did, to = "took back what they delegated", ""
	default:
		act.Did = "delegated"
	}
	return w.about(act, a.Gate, to)
}

func signalled(s *posthouse.Signal) (did, what string) {
	switch known, ok := signals[s.Name]; {
	case ok && s.Thread == authlog.Thread:
		return known[0], access(s)
	case ok:
		return known[0], known[1]
	case s.Name == transfer.SignalCopied:
		var from struct{ Thread string }
		_ = json.Unmarshal(s.Value, &from) // the runtime wrote it
		return "copied", "thread " + from.Thread
	case s.Thread == substitutes:
		return substitute(s)
	}
	return "sent", cut(joined(": ", "the signal "+s.Name, short(s.Value)), maxWhat)
}

// reasonOf returns why somebody cancelled or held something, or named a substitute.
func reasonOf(s *posthouse.Signal) string {
	var v struct {
		Reason    string
		Named     *deciders.Substitution
		Withdrawn *struct{ Why string }
	}
	if !posthouse.IsReserved(s.Name) && s.Thread != substitutes || json.Unmarshal(s.Value, &v) != nil {
		return "" // a program's signal may have anything
	}
	switch {
	case v.Named != nil:
		return v.Named.Reason
	case v.Withdrawn != nil:
		return v.Withdrawn.Why
	}
	return v.Reason
}

// substitute says who was named as a substitute, or is one no longer.
func substitute(s *posthouse.Signal) (did, what string) {
	var c struct{ Named, Withdrawn *deciders.Substitution }
	_ = json.Unmarshal(s.Value, &c) // the runtime wrote it
	day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	switch {
	case c.Named != nil:
		return "named a substitute", c.Named.To + " in place of " + c.Named.By + ", from " + day(c.Named.From) + " until " + day(c.Named.Until)
	case c.Withdrawn != nil:
		return "ended a substitution", c.Withdrawn.To + " in place of " + c.Withdrawn.By
	}
	return "changed", "substitutes"
}

// change says what a person did that made a checkpoint.
func (w *walk) change(act *Act, h *posthouse.Header) error {
	act.Did = cmp.Or(made[h.Kind], "made a checkpoint")
	on := ""
	if h.Branch != posthouse.MainBranch {
		on = "branch " + h.Branch
	}
	parts := w.changed(h)
	begins := h.Parent == "" && h.Kind != posthouse.KindFork && h.Graph != ""
	if begins || h.Kind == posthouse.KindInput {
		program, with, err := w.input(h, parts)
		if err != nil {
			return err
		}
		act.Did = "sent input to"
		if begins {
			act.Did = "started"
		}
		act.What = joined(", ", joined(" with ", program, with), on)
		act.What = cut(act.What, maxWhat)
		return nil
	}
	switch h.Kind {
	case posthouse.KindFork:
		from := ""
		switch {
		case h.Source != nil && h.Source.Thread != h.Thread:
			from = "from thread " + h.Source.Thread
		case h.ParentSeq > 0:
			from = "from #" + strconv.FormatUint(h.ParentSeq, 10)
		}
		act.What, act.Reason = joined(" ", cmp.Or(on, "the thread"), from), noted(act.Record)
	case posthouse.KindWait: // a question without an answer was asked again where it stood
		act.Did, act.What, act.Reason = "asked again", cmp.Or(w.replaces(), on, "a question"), noted(act.Record)
	case posthouse.KindUpdate, posthouse.KindSave:
		act.What = joined(", ", cmp.Or(named(parts), "the state"), on)
	case posthouse.KindRestartStep:
		act.What = joined(", ", cmp.Or(strings.Join(h.Next, ", "), h.Node, "the step"), on)
	case posthouse.KindCancel:
		act.What, act.Reason = cmp.Or(on, "the run"), h.Error
	default:
		act.What = cmp.Or(on, "the run")
	}
	act.What = cut(act.What, maxWhat)
	return nil
}

// noted returns the reason that a person gave for a checkpoint, which is a note on it.
func noted(e *posthouse.Event) string {
	if len(e.Notes) == 0 {
		return ""
	}
	return e.Notes[0].Line
}

// replaces returns the name of the question of the entry that stands in the place of an older one.
func (w *walk) replaces() string {
	for i := range w.entryNow.Records {
		if g := w.entryNow.Records[i].Gate; g != nil && g.Supersedes != "" {
			return g.Name
		}
	}
	return ""
}

// changed returns the names of the parts that a checkpoint set or dropped.
func (w *walk) changed(h *posthouse.Header) (parts []string) {
	for i := range w.entryNow.Records {
		r := &w.entryNow.Records[i]
		if r.Checkpoint != h {
			continue
		}
		for j := range r.Parts.Changes {
			if name := r.Parts.Changes[j].Name; !strings.HasPrefix(name, "$") {
				parts = append(parts, name)
			}
		}
	}
	return parts
}

// input names the program that got a checkpoint's input, and the values, without those that are empty.
func (w *walk) input(h *posthouse.Header, parts []string) (program, with string, err error) {
	program = cmp.Or(h.Graph, "the thread")
	c, err := w.ledger.Get(w.ctx, h.ID)
	if err != nil {
		return program, "", unlessUnread(err)
	}
	var all []member
	for _, name := range parts {
		if v := c.State[name]; v.Codec == "json" {
			all = append(all, member{name, v.Data})
		}
	}
	all = opened(all)
	if h.Graph == standalone && len(all) > 0 && all[0].name == "task" {
		program = "task " + short(all[0].value)
		all = opened(all[1:])
	}
	return program, said(all), nil
}

// standalone is the program that runs one task for whoever starts it.
const standalone = "posthouse.task"

// A member is a value with its name.
type member struct {
	name  string
	value []byte
}

// opened returns the members of a value that is an object and stands alone, and otherwise the list as it is.
func opened(all []member) []member {
	if len(all) != 1 {
		return all
	}
	d := json.NewDecoder(bytes.NewReader(all[0].value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return all
	}
	var inside []member
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		key, ok := name.(string)
		if err != nil || !ok {
			return all
		}
		inside = append(inside, member{key, value})
	}
	return inside
}

// said lists the first members that are not empty.
func said(all []member) string {
	var words []string
	for _, m := range all {
		if slices.Contains(empty, string(m.value)) {
			continue
		}
		if len(words) == maxParts {
			words = append(words, "…")
			break
		}
		words = append(words, m.name+" "+short(m.value))
	}
	return strings.Join(words, ", ")
}

var empty = []string{"", "null", `""`, "0", "false", "[]", "{}"}

// effect says what acted on the world, and who approved it.
func (w *walk) effect(act *Act, s *posthouse.StepInfo) error {
	name := s.Name[strings.LastIndexByte(s.Name, '>')+1:]
	act.Did = "acted"
	if s.Effect == posthouse.EffectWrite {
		act.Did = "wrote"
	}
	if begun, ok := strings.CutSuffix(s.Name, useBegun); ok {
		name = begun[strings.LastIndexByte(begun, '>')+1:]
		act.Did = "began"
		act.Reason = "there is no result on record"
	}
	if s.Occurrence > 0 {
		name += ", call " + strconv.FormatUint(uint64(s.Occurrence)+1, 10)
	}
	act.What = name
	if s.Grant == "" {
		return nil
	}
	g, err := w.gate(s.Grant)
	if err != nil {
		return err
	}
	words := name
	if g != nil && g.Decision != nil {
		words += ", approved by " + g.Decision.By
	}
	return w.about(act, s.Grant, words)
}

// useBegun ends the name of the record that an effect under a grant is about to act.
const useBegun = ">$use"

// marks reports whether a step's record is the runtime's own: part of an effect that has a record beside it.
func marks(s *posthouse.StepInfo) bool {
	return strings.HasPrefix(s.Name[strings.LastIndexByte(s.Name, '>')+1:], "$")
}

func removed(r *posthouse.RemovalInfo) string {
	switch {
	case r.Whole:
		return "the thread"
	case r.Version > 0:
		return "version " + strconv.FormatUint(uint64(r.Version), 10) + " of the thread"
	}
	return count(r.Count+r.Archived, "checkpoint")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// named lists a few names.
func named(names []string) string {
	if len(names) > maxParts {
		return strings.Join(names[:maxParts], ", ") + " and " + strconv.Itoa(len(names)-maxParts) + " others"
	}
	return strings.Join(names, ", ")
}

// joined puts a separator between two texts that are both there.
func joined(by, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + by + b
}

// short returns JSON in one short line: text without its quotes, unless it has several lines.
func short(value []byte) string {
	var line string
	if err := json.Unmarshal(value, &line); err == nil && line != "" && !strings.ContainsAny(line, "\n\r") {
		return cut(line, maxValue)
	}
	if string(value) == "null" {
		return ""
	}
	return cut(string(value), maxValue)
}

// cut returns the first bytes of a text, and no half of a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// unlessUnread returns nil for what cannot be read, or is gone: the act is there without it.
func unlessUnread(err error) error {
	if errors.Is(err, posthouse.ErrSealed) || errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}
