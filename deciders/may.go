package deciders

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// ownRequestHint is for a requester who would approve, even while no other person can.
const ownRequestHint = "somebody else has to decide, with an access of their own: posthouse token create --name NAME --role approver"

// MayGive checks who may decide a gate at a time, and with which verdict. It does not
// check that the gate waits, nor what the decision carries.
func MayGive(g *posthouse.Gate, d *posthouse.Decision, at time.Time) error {
	forbidden := func(message, hint string) error {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: hint}
	}
	right, ok := Right(g, d.By, at)
	votes := g.TakesVote(d.Verdict)
	switch own := !votes && !d.Verdict.IsNo(); {
	case d.Verdict == posthouse.Cancel:
		return NotDecided()
	case !g.AsksPeople():
		return forbidden("gate "+string(g.ID)+" waits for a "+g.Kind+", not for a person", "send the signal, wait, or have an operator withdraw it: posthouse cancel "+string(g.ID))
	case !g.Allows(d.Verdict):
		return posthouse.Invalid("verdict", "%q is not among those this gate allows: %v", d.Verdict, g.Verdicts)
	case !ok:
		return NotAssigned(g, d.By)
	case own && g.Excluded(d.By):
		return requested(g, d.By, "cannot approve it", ownRequestHint)
	case own && g.Excluded(d.Actor):
		return requested(g, d.Actor, "cannot approve it in the name of "+d.By+" either", ownRequestHint)
	case own && slices.ContainsFunc(right.Via, g.Excluded):
		return forbidden(d.By+" was given this by somebody who asked for it", ownRequestHint)
	case votes:
		return mayVote(g, d, right)
	}
	return nil
}

// MayDecide returns why a person may not give an open gate a verdict at a time, or nil.
// [posthouse.ErrInvalid] for a verdict that the gate does not allow, [posthouse.ErrForbidden] for a person
// who is not asked or who made the request, [posthouse.ErrVoted] for one who has voted.
func MayDecide(g *posthouse.Gate, name string, v posthouse.Verdict, at time.Time) error {
	return MayGive(g, &posthouse.Decision{By: name, Verdict: v}, at)
}

// mayVote checks the rules of a quorum: each person votes once, the requester does not.
// A delegate counts as the person they are, and has no vote if the requester chose them.
func mayVote(g *posthouse.Gate, d *posthouse.Decision, right Decider) error {
	if slices.ContainsFunc(right.Via, g.Excluded) {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: d.By + " was given this vote by somebody who asked for it", Hint: ownRequestHint}
	}
	for _, name := range []string{d.By, d.Actor} {
		switch v := g.Voted(name); {
		case v != nil:
			return voted(g, v, name, " already: "+string(v.Verdict), "somebody else has to vote")
		case name != "" && g.Excluded(name):
			return requested(g, name, "has no vote on it", "cancel it to withdraw it")
		}
	}
	return nil
}

// NotAssigned returns the error of a person without a right. It names who has their
// right now, if they handed it on.
func NotAssigned(g *posthouse.Gate, name string) error {
	hint := "ask one of its assignees"
	for i := range g.Assignments {
		switch a := &g.Assignments[i]; {
		case a.TakesBack != 0 && !posthouse.SameName(a.By, name):
			for j := range g.Assignments[:i] {
				if d := &g.Assignments[j]; d.Seq == a.TakesBack && Delegates(d) && posthouse.SameName(d.To[0], name) {
					hint = a.By + " took it back"
				}
			}
		case posthouse.SameName(a.By, name) && !a.Escalation && a.TakesBack == 0:
			hint = "it was handed to " + a.To[0]
		}
	}
	return &posthouse.Error{Code: posthouse.CodeForbidden, Message: name + " is not among those this gate is assigned to", Hint: hint}
}

// MaySnooze returns why a person may not set the gate aside in their inbox, or nil: it is not in it.
func MaySnooze(g *posthouse.Gate, name string, at time.Time) error {
	switch {
	case !posthouse.InInbox(g.Kind):
		return posthouse.Invalid("gate", "%s waits for a %s and is in no inbox", g.ID, g.Kind)
	case g.Decision != nil:
		return decidedError(g)
	case !g.ExpiresAt.IsZero() && !at.Before(g.ExpiresAt):
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "gate " + string(g.ID) + " has expired", Hint: "it leaves all inboxes by itself"}
	case g.Voted(name) != nil:
		return voted(g, g.Voted(name), name, ", which has left their inbox", "")
	case g.Excluded(name):
		return requested(g, name, "does not have it in their inbox", "reject it to withdraw it")
	case !OpenTo(g, name, at):
		return NotAssigned(g, name)
	}
	return nil
}

func decidedError(g *posthouse.Gate) error {
	return &posthouse.Error{
		Code: posthouse.CodeDecided, Decision: g.Decision, Message: "gate " + string(g.ID) + " was decided: " + string(g.Decision.Verdict) + " by " + g.Decision.By,
	}
}

// requested returns the error of a person who may not do something because they asked for what the
// gate asks, under this name or another one of theirs.
func requested(g *posthouse.Gate, name, cannot, hint string) error {
	e := &posthouse.Error{Code: posthouse.CodeForbidden, Message: name + " asked for this and " + cannot, Hint: hint}
	as := g.Requester(name)
	if what := answered(g, as); what != "" {
		e.Message = as + " answered " + what + ", which this may follow from, and " + cannot
		e.Hint = "somebody else has to decide, unless the program allows it (AllowRequester of the question)"
	}
	if as != name {
		e.Message = name + " counts as the same person as " + as + ", who asked for this, and " + cannot
		e.Hint = twoPeople(g, name, as)
	}
	return e
}

// answered returns the earlier questions that a person answered who is a requester of the gate for nothing
// else, "" for any other requester.
func answered(g *posthouse.Gate, name string) string {
	var what []string
	for i := range g.Requesters {
		switch r := &g.Requesters[i]; {
		case r.Name != name:
		case r.How != posthouse.RequestedByAnswer:
			return ""
		default:
			what = append(what, r.What...)
		}
	}
	return strings.Join(what, ", ")
}

// voted returns the error of a person who has voted, under this name or another one of theirs.
func voted(g *posthouse.Gate, vote *posthouse.Decision, name, rest, hint string) error {
	e := &posthouse.Error{Code: posthouse.CodeVoted, Decision: vote, Message: name + " has voted on gate " + string(g.ID) + rest, Hint: hint}
	if as := g.Voter(name); as != name {
		e.Message = name + " counts as the same person as " + as + ", who has voted on gate " + string(g.ID) + rest
		e.Hint = twoPeople(g, name, as)
	}
	return e
}

// twoPeople says how two names become two people's.
func twoPeople(g *posthouse.Gate, a, b string) string {
	token := ""
	if g.Record.People != nil && !posthouse.SameName(a, b) {
		token, _ = g.Record.People.OnePerson(a, b)
	}
	if token == "" {
		return "somebody else has to decide"
	}
	return "the access token of " + token + " was made over the API and speaks for its maker, too. If it is another person's, have that confirmed where the server's data directory is " +
		"(posthouse token confirm " + token + "), or by an operator who has nothing to do with its maker"
}

// NotDecided returns the error of a decision with the verdict Cancel.
func NotDecided() error {
	e := posthouse.Invalid("verdict", "cancel is no decision: it takes a question back")
	e.Hint = "who asked for it, an operator and the program may withdraw it: posthouse cancel GATE, Ledger.Withdraw; who may decide it can reject it"
	return e
}

// MayWithdraw returns why a person who is no operator may not withdraw an open gate, or nil: it is not their
// request, or it asks no person.
func MayWithdraw(g *posthouse.Gate, name string) error {
	forbidden := func(message, hint string) error {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: hint}
	}
	switch {
	case !g.AsksPeople():
		return forbidden("gate "+string(g.ID)+" waits for a "+g.Kind+" and asks nobody", "have an operator withdraw it")
	case !g.Requests(name):
		return forbidden(name+" did not ask for gate "+string(g.ID)+" and cannot withdraw it", "have an operator withdraw it, or reject it if you may decide it")
	}
	return nil
}
