package effect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Use is one effect of an execution, with its attempts. The zero value has no attempts. Records
// and decisions are added in the order of the log. It is not safe for concurrent use.
type Use struct {
	attempts   []attempt
	numbers    int // of records that say that an attempt begins
	result     bool
	parts      []string // results within it that say more than what was read
	inner      []*inner
	undone     []posthouse.ID // tasks whose worker said that nothing happened
	claims     []claim        // workers that had tasks of it, since it was last known not to have happened
	outcomes   []outcome
	reconciles []reconcile
	ended      bool // its branch was cancelled: nothing in it continues

	now time.Time // zero: nothing is due

	at, settled uint64 // the entry that is added, and the newest that says that nothing happened
	said        uint64 // the newest entry by which it begins, or in which people say that it is to be done again
	renewed     renewal

	reply *Reply // the last of the newest attempt that did not fit; may be nil
}

// An attempt is one run of the function, with what it waited for in between.
type attempt struct {
	first, last int          // its records, from 0
	grant       posthouse.ID // the gate of the last one
	state       State
	err         string // of an unknown one, if its function returned one
	ended       bool   // its function was seen to return
}

// A renewal is the newest word of people that an attempt is to be done again, under the decision of
// the gate that it began under.
type renewal struct {
	gate posthouse.ID
	at   time.Time
}

// An inner gate is a wait or a task within the function.
type inner struct {
	gate      posthouse.ID
	call      posthouse.ID // of a task; "" for another wait
	task      bool
	open      bool
	expires   time.Time
	news      bool // it was decided after the use parked
	withdrawn bool // taken back, without a word on it
	lost      bool // its worker ended without a word that nothing happened
}

type claim struct{ call, gate posthouse.ID }

// An outcome is a question about attempts, or its answer.
type outcome struct {
	gate     posthouse.ID
	attempts int // it is about the first ones, from 1
	open     bool
}

// Record adds a record of the effect. what is the last part of its name, "" for the result; n is
// its number, m what it holds and known whether that could be read.
func (u *Use) Record(what string, n uint32, grant posthouse.ID, m Mark, known bool) {
	switch what {
	case "":
		u.result = true
	case RecordBegins:
		u.begins(grant)
	case RecordParks:
		if m.Error != "" {
			u.lost(int(n)+1, m.Error)
			return
		}
		u.parks(int(n))
	case RecordUnknown:
		u.lost(int(n)+1, m.Error)
		if a := u.newest(); a != nil {
			a.ended = a.ended || m.Error != ""
		}
	case RecordOver:
		u.settle(int(n)+1, SaysNotDone, Missing)
	case RecordFailed:
		switch {
		case known && m.Error == "":
			u.settle(int(n)+1, SaysNotDone, Missing)
		case known && m.Error == posthouse.ErrWaiting.Error(): // an earlier version said so of one that waits
			u.parks(int(n))
		default:
			u.lost(int(n)+1, m.Error)
		}
	case RecordClaimed:
		u.claims = append(u.claims, claim{m.Call, m.Gate})
	case RecordUndone:
		if m.NotDone {
			u.undone = append(u.undone, m.Gate)
		}
		if i := slices.IndexFunc(u.claims, func(c claim) bool { return c.gate == m.Gate }); i >= 0 {
			u.claims = slices.Delete(slices.Clone(u.claims), i, i+1)
		}
	}
}

func (u *Use) begins(grant posthouse.ID) {
	if a := u.newest(); a != nil && a.state == Waiting {
		a.state, a.last, a.grant = Next(a.state, Continues), u.numbers, grant
	} else {
		u.reply = nil
		u.attempts = append(u.attempts, attempt{first: u.numbers, last: u.numbers, grant: grant, state: Next(Licensed, Begins)})
	}
	u.numbers++
	u.said = u.at
}

func (u *Use) newest() *attempt {
	if len(u.attempts) == 0 {
		return nil
	}
	return &u.attempts[len(u.attempts)-1]
}

func (u *Use) parks(n int) {
	for i := range u.attempts {
		if a := &u.attempts[i]; a.first <= n && n <= a.last {
			a.state = Next(a.state, Parks)
		}
	}
	for _, in := range u.inner {
		in.news = false
	}
}

// lost says that an attempt, named by the number of its newest record from 1, ended otherwise than
// with a result or a word that nothing happened.
func (u *Use) lost(number int, err string) {
	for i := range u.attempts {
		if a := &u.attempts[i]; a.first < number && number <= a.last+1 {
			a.state, a.err = Next(a.state, Lost), cmp.Or(a.err, err)
		}
	}
}

// settle says that the attempts up to a number did not happen: by the event if their end was not
// seen before, and by otherwise if they were unknown.
func (u *Use) settle(number int, event, otherwise Event) {
	for i := range u.attempts {
		a := &u.attempts[i]
		if a.first >= number {
			continue
		}
		a.state = Next(a.state, event)
		a.state = Next(a.state, otherwise)
	}
	u.claims, u.reply, u.settled = nil, nil, u.at
}

// maxParts bounds how many parts of an effect are named.
const maxParts = 20

// Inner adds a step's result within the function. A result that was only read or computed is no part of
// the effect.
func (u *Use) Inner(name string, class posthouse.Effect) {
	if class != posthouse.EffectPure && class != posthouse.EffectRead && len(u.parts) < maxParts {
		u.parts = append(u.parts, name)
	}
}

// Parts returns the results within the function that are on record, at most 20.
func (u *Use) Parts() []string { return u.parts }

// A Gate is what a Use is to know of a gate within it.
type Gate struct {
	ID   posthouse.ID
	Name string // in full
	Kind string
	Note string       // of a timer, if it is known
	Call posthouse.ID // of a task, if it is known

	ExpiresAt  time.Time // zero: never, or it is not known
	Supersedes posthouse.ID
}

// Opened adds a gate within the effect.
func (u *Use) Opened(g Gate) {
	if g.Kind == KindOutcome {
		n := outcomeOf(g.Name)
		u.lost(n, "")
		u.outcomes = append(u.outcomes, outcome{gate: g.ID, attempts: n, open: true})
		return
	}
	if _, is := strings.CutPrefix(g.Name[strings.LastIndexByte(g.Name, '>')+1:], recordReconcile); is {
		u.reconciles = append(u.reconciles, reconcile{Reconcile{g.ID, g.Note == NotFound}, u.numbers})
		return
	}
	u.inner = slices.DeleteFunc(u.inner, func(in *inner) bool { // a task's later attempt takes the place of the one before
		return in.gate == g.Supersedes || in.task && in.call != "" && in.call == g.Call
	})
	u.inner = append(u.inner, &inner{gate: g.ID, call: g.Call, task: g.Kind == posthouse.GateTask, open: true, expires: g.ExpiresAt})
}

// A Decision is what a Use is to know of a gate's answer.
type Decision struct {
	Gate    posthouse.ID
	Verdict posthouse.Verdict
	Unknown bool // of a task: its worker may have acted
	By      string
	At      time.Time
}

// Decided adds the decision of a gate within the effect, and reports whether it is of one.
func (u *Use) Decided(d Decision) bool {
	for i := range u.outcomes {
		if o := &u.outcomes[i]; o.gate == d.Gate && o.open {
			o.open = false
			u.answer(o.attempts, d.Verdict)
			u.renew(o.attempts, d)
			return true
		}
	}
	for _, in := range u.inner {
		if in.gate != d.Gate || !in.open {
			continue
		}
		in.open, in.news = false, true
		in.withdrawn = d.Verdict == posthouse.Cancel || d.Verdict == posthouse.Expire
		in.lost = in.task && d.Verdict == posthouse.Reject && (d.Unknown || u.isClaimed(in))
		return true
	}
	return false
}

// isClaimed reports whether a worker has had a task, and has not said that nothing happened.
func (u *Use) isClaimed(in *inner) bool {
	return slices.ContainsFunc(u.claims, func(c claim) bool {
		return c.gate == in.gate || c.call != "" && c.call == in.call || c.gate == "" && c.call == ""
	})
}

// answer adds what people, or the program's reconciliation, said of the first attempts. Answers
// that earlier versions recorded have the verdicts of other questions.
func (u *Use) answer(attempts int, v posthouse.Verdict) {
	var e Event
	switch v {
	case posthouse.Respond, posthouse.Happened:
		e = Happened
	case posthouse.Approve, posthouse.Redo:
		e = Redo
	case posthouse.Reject, posthouse.GiveUp:
		e = GiveUp
	default:
		return // withdrawn: it stays unknown
	}
	for i := range u.attempts {
		if a := &u.attempts[i]; a.first < attempts {
			a.state = Next(a.state, e)
		}
	}
	u.claims, u.reply = nil, nil
	if e == Redo {
		u.settled, u.said = u.at, u.at
	}
}

// renew notes a person's word that the first attempts are to be done again. A finding of the
// program's reconciliation is no approval, and earlier versions asked for no approval.
func (u *Use) renew(attempts int, d Decision) {
	if d.Verdict != posthouse.Redo || d.By == ReconcileActor {
		return
	}
	for i := range u.attempts {
		if a := &u.attempts[i]; a.first < attempts {
			u.renewed = renewal{a.grant, d.At}
		}
	}
}

// ValidUntil returns until when the decision of a gate with a ValidFor licenses the effect, zero if
// it has no end. That people said under it that the effect is to be done again renews it, for this
// effect.
func (u *Use) ValidUntil(g *posthouse.Gate) time.Time {
	if g.ValidFor <= 0 || g.Decision == nil {
		return time.Time{}
	}
	from := g.Decision.At
	if u.renewed.gate == g.ID && u.renewed.at.After(from) {
		from = u.renewed.at
	}
	return from.Add(g.ValidFor)
}

// Cancelled says that the effect's branch was cancelled.
func (u *Use) Cancelled() { u.ended = true }

// State returns how far the effect has come: that of its newest attempt, unless an earlier one
// says more.
func (u *Use) State() State {
	if u.result {
		return Done
	}
	state := Licensed
	for i := range u.attempts {
		state = combine(state, u.attempts[i].state)
	}
	switch {
	case state == Waiting:
		return u.waiting()
	case (state == Licensed || state == NotDone) && len(u.claims) > 0:
		return Unknown // an earlier version handed its task out without waiting for it
	}
	return state
}

// combine returns the state of an effect with an attempt after those that made it s.
func combine(s, next State) State {
	switch {
	case s == Done || s == GivenUp:
		return s
	case s == Unknown && next == NotDone:
		return Unknown // a word on a repetition says nothing of the attempt before
	}
	return next
}

// waiting returns the state of an effect that waits for something within it.
func (u *Use) waiting() State {
	tasks, withdrawn, open, dead := 0, 0, 0, false
	for _, in := range u.inner {
		if in.open && !u.isDue(in) {
			open++
		}
		if !in.task {
			continue
		}
		tasks++
		if in.withdrawn {
			withdrawn++
		}
		dead = dead || in.lost || in.withdrawn && u.isClaimed(in)
	}
	for _, c := range u.claims {
		dead = dead || !u.isAlive(c)
	}
	switch {
	case dead || u.ended && (len(u.claims) > 0 || u.Acted()):
		return Next(Waiting, Lost)
	case u.ended, tasks == withdrawn && open == 0 && !u.Acted():
		return Next(Waiting, Withdrawn)
	}
	return Waiting
}

// isAlive reports whether the gate of a task that a worker has had is there, open or with the
// worker's word. A step that began again, for one, has dropped it.
func (u *Use) isAlive(c claim) bool {
	return slices.ContainsFunc(u.inner, func(in *inner) bool {
		mine := c.gate == in.gate || c.call != "" && c.call == in.call || c.gate == "" && c.call == ""
		return in.task && mine && !in.withdrawn && !in.lost
	})
}

// Rests reports whether an effect that waits waits still for all that it waited for when it
// parked: its function, run again, would only wait again.
func (u *Use) Rests() bool {
	open := 0
	for _, in := range u.inner {
		if in.news || in.open && u.isDue(in) {
			return false
		}
		if in.open {
			open++
		}
	}
	return open > 0
}

// At says what time it is: what is due is over then, also if that is not on record.
func (u *Use) At(now time.Time) *Use {
	u.now = now
	return u
}

func (u *Use) isDue(in *inner) bool {
	return !u.now.IsZero() && !in.expires.IsZero() && !u.now.Before(in.expires)
}

// Attempts returns how many attempts began, counting each time that the function ran again after
// a wait, as the numbers of the records do.
func (u *Use) Attempts() int { return u.numbers }

// Grant returns the gate under which an attempt began, by the number of its record.
func (u *Use) Grant(n int) posthouse.ID {
	for i := range u.attempts {
		if a := &u.attempts[i]; a.first <= n && n <= a.last {
			return a.grant
		}
	}
	return ""
}

// Open returns the number of the first attempt that may have happened, or runs, and whether there
// is one.
func (u *Use) Open() (n int, any bool) {
	for i := range u.attempts {
		switch a := &u.attempts[i]; a.state {
		case Begun, Waiting, Unknown:
			return a.first, true
		}
	}
	return u.numbers, false
}

// HasOpen reports whether an attempt may have happened, or runs.
func (u *Use) HasOpen() bool { _, any := u.Open(); return any }

// Failed returns how many attempts are known not to have happened.
func (u *Use) Failed() (n int) {
	for i := range u.attempts {
		if u.attempts[i].state == NotDone {
			n++
		}
	}
	return n
}

// Error returns what the newest attempt of unknown outcome returned, "" if its end is not known.
func (u *Use) Error() string {
	for i := range slices.Backward(u.attempts) {
		if a := &u.attempts[i]; a.state == Unknown && a.err != "" {
			return a.err
		}
	}
	return ""
}

// Question returns the newest question about the outcome of the attempts so far, and whether it is
// open. "" if there is no such question.
func (u *Use) Question() (gate posthouse.ID, open bool) {
	for i := range slices.Backward(u.outcomes) {
		if o := &u.outcomes[i]; o.attempts >= u.numbers || o.open {
			return o.gate, o.open
		}
	}
	return "", false
}

// IsAsked reports whether people were asked about the outcome of an attempt.
func (u *Use) IsAsked() bool { return len(u.outcomes) > 0 }

// Acted reports whether results of steps within the function are on record.
func (u *Use) Acted() bool { return len(u.parts) > 0 }

// IsClaimed reports whether a worker has a task of the effect, or had it and has not said that
// nothing happened.
func (u *Use) IsClaimed() bool { return len(u.claims) > 0 }

// SaidNotDone reports whether the worker that had a task, by its gate, said that nothing happened.
func (u *Use) SaidNotDone(gate posthouse.ID) bool { return slices.Contains(u.undone, gate) }

// AtWork reports whether a worker has a task of the effect now.
func (u *Use) AtWork() bool {
	return slices.ContainsFunc(u.inner, func(in *inner) bool { return in.task && in.open && u.isClaimed(in) })
}

// HasClaim is IsClaimed for one task.
func (u *Use) HasClaim(call posthouse.ID) bool {
	return slices.ContainsFunc(u.claims, func(c claim) bool { return c.call == call })
}

// Settled returns the entry that last said that nothing happened, 0 if no entry did, and the
// largest number if the run that asks has recorded it.
func (u *Use) Settled() uint64 { return u.settled }

// Since returns the newest entry by which an attempt of the effect begins, or in which people say that
// it is to be done again: 0 if there is no such entry, and the largest number if the run that asks has
// recorded it.
func (u *Use) Since() uint64 { return u.said }

// Read returns the effect of a call, such as "pay[1]", from what an execution has on record.
// Steps are in the order of the log; those with Seq 0 were recorded by the run that asks.
func Read(call string, steps []*posthouse.StepRecord, gates []*posthouse.Gate) *Use {
	type item struct {
		seq uint64
		add func(*Use)
	}
	var items []item
	prefix := call + ">"
	for _, s := range steps {
		what, within := strings.CutPrefix(s.Name, prefix)
		if !within {
			continue
		}
		seq := s.Seq
		if seq == 0 {
			seq = ^uint64(0)
		}
		items = append(items, item{seq, func(u *Use) {
			if what == RecordReply {
				r := &Reply{}
				if json.Unmarshal(s.Value.Data, r) == nil {
					u.Replied(r)
				}
				return
			}
			if !IsRecord(what) {
				if !strings.Contains(what, "$") {
					u.Inner(what, s.Effect)
				}
				return
			}
			m, known := ReadMark(s.Value.Data)
			u.Record(what, s.Occurrence, s.Grant, m, known)
		}})
	}
	for _, g := range gates {
		if !strings.HasPrefix(g.Name, prefix) {
			continue
		}
		in := Gate{ID: g.ID, Name: g.Name, Kind: g.Kind, Note: g.Note, ExpiresAt: g.ExpiresAt, Supersedes: g.Supersedes}
		if g.Call != nil {
			in.Call = g.Call.ID
		}
		items = append(items, item{g.Seq, func(u *Use) { u.Opened(in) }})
		forged := g.AsksOutcome() && g.Record.Signed && !g.Record.AnswerSigned // it says nothing, and people are asked again
		if d := g.Decision; d != nil && !forged {
			seq := d.Seq
			if seq == 0 {
				seq = g.Seq
			}
			items = append(items, item{seq, func(u *Use) {
				u.Decided(Decision{Gate: g.ID, Verdict: d.Verdict, Unknown: d.Unknown, By: d.By, At: d.At})
			}})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.seq, b.seq) })
	u := &Use{}
	for i := range items {
		u.at = items[i].seq
		items[i].add(u)
	}
	return u
}

// recordReconcile begins the names of the timers between calls of a program's reconciliation.
const recordReconcile = "$reconcile-"

// ReconcileName is the name, within the effect, of the timer after the n-th call of a program's
// reconciliation, from 0, that did not settle the outcome of the first attempts.
func ReconcileName(attempts, n int) string {
	return recordReconcile + strconv.Itoa(attempts) + "-" + strconv.Itoa(n)
}

// ReconcileActor is by whom the question about an outcome is decided that the program's
// reconciliation found.
const ReconcileActor = "program:reconcile"

// NotFound is the text of the timer after a call that found that nothing happened.
const NotFound = "not done"

// A Reconcile is a call of a program's reconciliation that did not settle the outcome.
type Reconcile struct {
	Gate    posthouse.ID // the timer of the next call
	NotDone bool         // it found that nothing happened; else it could not tell
}

// Reconciles returns the calls about the attempts so far, oldest first.
func (u *Use) Reconciles() (calls []Reconcile) {
	for _, r := range u.reconciles {
		if r.attempts == u.numbers {
			calls = append(calls, r.Reconcile)
		}
	}
	return calls
}

// Ended reports whether the end of the newest attempt was seen: its function returned, and that is
// on record.
func (u *Use) Ended() bool {
	a := u.newest()
	return a != nil && a.ended
}

type reconcile struct {
	Reconcile
	attempts int
}
