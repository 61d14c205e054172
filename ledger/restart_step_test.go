package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// A restarted step knows only the earlier effects on the world, without their
// order, and the questions to people.
func TestRestartedStepKeepsEffectsAndQuestions(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	commit := func(d ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread = "t"
		return must.Get(l.Commit(ctx, &d))(t)
	}
	commit(ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"n"}}})
	for _, s := range []posthouse.Step{{Name: "think", Effect: posthouse.EffectPure}, {Name: "look", Effect: posthouse.EffectRead}, {Name: "pay", Effect: posthouse.EffectExternal}} {
		commit(ledger.Draft{Steps: []posthouse.Step{{
			Task: "1/n", Name: s.Name, Effect: s.Effect, Value: posthouse.Value{Codec: "json", Data: []byte("1")},
		}}})
	}
	for _, name := range []string{"think", "$done"} {
		commit(ledger.Draft{Steps: []posthouse.Step{{Task: "1/m", Name: name, Value: posthouse.Value{Codec: "json", Data: []byte("1")}}}})
	}
	asked := commit(ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}},
		Gates: []posthouse.Gate{
			{Task: "1/n", Name: "ok?"},
			{Task: "1/n", Name: "nap", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)},
		},
	})
	must.Get(l.Decide(ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	began := must.Get(l.RestartStep(ctx, asked.Checkpoint.ID, &ledger.RestartStepOptions{By: "carol"}))(t)
	anew := began.Checkpoint
	names := func(steps []posthouse.StepRecord) (out []string) {
		for _, s := range steps {
			out = append(out, s.Task+" "+s.Name)
		}
		return out
	}
	if d, k := names(began.Dropped), names(began.Kept); !slices.Equal(d, []string{"1/n think", "1/n look"}) || !slices.Equal(k, []string{"1/n pay"}) {
		t.Errorf("dropped %v, kept %v", d, k)
	}
	if anew.Kind != posthouse.KindRestartStep || anew.Status != posthouse.StatusInterrupted || anew.By != "carol" || !slices.Equal(anew.Next, []string{"n"}) {
		t.Errorf("the checkpoint is %+v", anew)
	}

	x := must.Get(executionOf(ctx, l, anew, "1/n"))(t)
	if len(x.Steps) != 1 || x.Steps[0].Name != "pay" || !x.Steps[0].Unordered {
		t.Errorf("results on record: %+v", x.Steps)
	}
	if len(x.Gates) != 1 || x.Gates[0].ID != asked.Gates[0].ID || x.Gates[0].Decision == nil {
		t.Errorf("questions on record: %+v", x.Gates)
	}
	if x.Edited != anew.Seq {
		t.Errorf("edited in entry %d, want %d", x.Edited, anew.Seq)
	}
	if done := must.Get(executionOf(ctx, l, anew, "1/m"))(t); len(done.Steps) != 2 {
		t.Errorf("an execution that completed beside it: %+v", done.Steps)
	}

	// A thread forked from it takes along what counts, and no more.
	commit(ledger.Draft{Steps: []posthouse.Step{{Task: "1/n", Name: "think", Value: posthouse.Value{Codec: "json", Data: []byte("2")}}}})
	head := commit(ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"n"}}})
	f := must.Get(l.Fork(ctx, head.Checkpoint.ID, &ledger.ForkOptions{Thread: "away"}))(t)
	x = must.Get(executionOf(ctx, l, &f.Header, "1/n"))(t)
	if len(x.Steps) != 2 || x.Steps[0].Name != "pay" || !x.Steps[0].Unordered || x.Steps[1].Name != "think" || x.Steps[1].Unordered || string(x.Steps[1].Value.Data) != "2" {
		t.Errorf("in a thread forked from it: %+v", x.Steps)
	}
	if len(x.Gates) != 1 || x.Gates[0].Name != "ok?" || x.Gates[0].Decision == nil {
		t.Errorf("questions in a thread forked from it: %+v", x.Gates)
	}
	c := must.Get(transfer.CopyThread(ctx, l, "away", "copy", nil))(t)
	h := must.Get(l.GetHeader(ctx, c.Branches[0].Head))(t)
	x = must.Get(executionOf(ctx, l, h, "1/n"))(t)
	if len(x.Steps) != 2 || !x.Steps[0].Unordered || x.Steps[1].Unordered {
		t.Errorf("in a copy of that: %+v", x.Steps)
	}
}

func TestRestartIsRefused(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	commit := func(d ledger.Draft) *posthouse.Header {
		t.Helper()
		return must.Get(l.Commit(ctx, &d))(t).Checkpoint
	}
	old := commit(ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusInterrupted, Next: []string{"n"}}})
	head := commit(ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"n"}}})
	done := commit(ledger.Draft{Thread: "d", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusDone}})
	hand := commit(ledger.Draft{Thread: "h", Checkpoint: &posthouse.Change{Status: posthouse.StatusInterrupted}})
	claim := must.Get(l.Claim(ctx, "t", "run"))(t)
	for name, c := range map[string]struct {
		id   posthouse.ID
		by   string
		want error
	}{
		"not there":     {"nope", "", posthouse.ErrNotFound},
		"no head":       {old.ID, "", posthouse.ErrConflict},
		"done":          {done.ID, "", posthouse.ErrConflict},
		"saved by hand": {hand.ID, "", posthouse.ErrConflict},
		"a name":        {head.ID, "alice\n", posthouse.ErrInvalid},
		"a run has it":  {head.ID, "", posthouse.ErrBusy},
	} {
		var e *posthouse.Error
		if _, err := l.RestartStep(ctx, c.id, &ledger.RestartStepOptions{By: c.by}); !errors.Is(err, c.want) || !errors.As(err, &e) || (c.want == posthouse.ErrConflict && e.Hint == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if a, err := l.RestartStep(ctx, head.ID, nil); err != nil || len(a.Dropped)+len(a.Kept) != 0 {
		t.Errorf("once it is free: %+v, %v", a, err)
	}
}
