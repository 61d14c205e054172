package effect_test

import (
	"encoding/json"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// A line is one record, gate or decision of an effect's log.
type line func(u *effect.Use)

func record(what string, n uint32, m effect.Mark) line {
	return func(u *effect.Use) { u.Record(what, n, "grant", m, true) }
}

func opened(id posthouse.ID, kind string, call posthouse.ID) line {
	name := "pay>" + string(id)
	if kind == posthouse.GateOutcome {
		name = "pay>" + string(id)
	}
	return func(u *effect.Use) { u.Opened(effect.Gate{ID: id, Name: name, Kind: kind, Call: call}) }
}

func decided(id posthouse.ID, v posthouse.Verdict) line {
	return func(u *effect.Use) { u.Decided(effect.Decision{Gate: id, Verdict: v}) }
}

func part(class posthouse.Effect) line { return func(u *effect.Use) { u.Inner("reserve", class) } }

// TestStateOfALog reads the state of an effect from logs, also those of earlier versions.
func TestStateOfALog(t *testing.T) {
	begins, parks := record(effect.RecordBegins, 0, effect.Mark{}), record(effect.RecordParks, 0, effect.Mark{})
	claimed := record(effect.RecordClaimed, 5, effect.Mark{Call: "c1", Gate: "task"})
	for name, c := range map[string]struct {
		log  []line
		want effect.State
	}{
		"nothing":                        {nil, effect.Licensed},
		"begun":                          {[]line{begins}, effect.Begun},
		"done":                           {[]line{begins, record("", 0, effect.Mark{})}, effect.Done},
		"its word":                       {[]line{begins, record(effect.RecordOver, 0, effect.Mark{Error: "refused"})}, effect.NotDone},
		"an error":                       {[]line{begins, record(effect.RecordUnknown, 0, effect.Mark{Error: "EOF"})}, effect.Unknown},
		"an earlier version's error":     {[]line{begins, record(effect.RecordFailed, 0, effect.Mark{Error: "EOF"})}, effect.Unknown},
		"settled by an earlier version":  {[]line{begins, record(effect.RecordFailed, 0, effect.Mark{})}, effect.NotDone},
		"an earlier version's wait":      {[]line{begins, record(effect.RecordFailed, 0, effect.Mark{Error: posthouse.ErrWaiting.Error()}), opened("ask", posthouse.GateApproval, "")}, effect.Waiting},
		"failed after a part":            {[]line{begins, part(posthouse.EffectUnset), record(effect.RecordParks, 0, effect.Mark{Error: "EOF"})}, effect.Unknown},
		"waits":                          {[]line{begins, parks, opened("task", posthouse.GateTask, "c1")}, effect.Waiting},
		"a worker has it":                {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), claimed}, effect.Waiting},
		"taken back before a worker":     {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), decided("task", posthouse.Cancel)}, effect.NotDone},
		"taken back from a worker":       {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), claimed, decided("task", posthouse.Cancel)}, effect.Unknown},
		"taken back after a part":        {[]line{begins, part(posthouse.EffectExternal), parks, opened("task", posthouse.GateTask, "c1"), decided("task", posthouse.Cancel)}, effect.Waiting},
		"a worker's word":                {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), claimed, record(effect.RecordUndone, 6, effect.Mark{Gate: "task", NotDone: true}), decided("task", posthouse.Reject)}, effect.Waiting},
		"a worker's error":               {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), claimed, decided("task", posthouse.Reject)}, effect.Unknown},
		"a worker did it":                {[]line{begins, parks, opened("task", posthouse.GateTask, "c1"), claimed, decided("task", posthouse.Respond)}, effect.Waiting},
		"a step that begins again":       {[]line{begins, parks, claimed}, effect.Unknown}, // its task's gate is gone
		"asked":                          {[]line{begins, opened("outcome", posthouse.GateOutcome, "")}, effect.Unknown},
		"people say that it happened":    {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.Happened)}, effect.Done},
		"people have it done":            {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.Redo)}, effect.NotDone},
		"people give it up":              {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.GiveUp)}, effect.GivenUp},
		"answers of earlier versions":    {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.Reject)}, effect.GivenUp},
		"a question that was withdrawn":  {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.Cancel)}, effect.Unknown},
		"given up, and the word is late": {[]line{begins, opened("outcome", posthouse.GateOutcome, ""), decided("outcome", posthouse.GiveUp), record(effect.RecordOver, 0, effect.Mark{})}, effect.GivenUp},
		"a repetition that runs":         {[]line{begins, record(effect.RecordUnknown, 0, effect.Mark{}), record(effect.RecordBegins, 1, effect.Mark{})}, effect.Begun},
	} {
		u := &effect.Use{}
		for _, l := range c.log {
			l(u)
		}
		if got := u.State(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestMarksAreRead as the runtime and workers write them; what cannot be read is not known.
func TestMarksAreRead(t *testing.T) {
	data, err := json.Marshal(effect.Mark{Error: "EOF", Gate: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if m, known := effect.ReadMark(data); !known || m.Error != "EOF" || m.Gate != "g" {
		t.Errorf("%+v, %v", m, known)
	}
	for _, bad := range []string{"", "sealed \x00", "[]"} {
		if m, known := effect.ReadMark([]byte(bad)); known || m != (effect.Mark{}) {
			t.Errorf("%q: %+v, %v", bad, m, known)
		}
	}
}
