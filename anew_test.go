package posthouse_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// A step that is taken anew knows of what ran before only the effects on the world,
// whose order does not count any more, and what people were asked.
func TestAStepTakenAnew(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	commit := func(d posthouse.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread = "t"
		return must[*posthouse.Committed](t)(l.Commit(ctx, &d))
	}
	commit(posthouse.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"n"}}})
	for name, effect := range map[string]posthouse.Effect{"think": posthouse.EffectPure, "look": posthouse.EffectRead, "pay": posthouse.EffectExternal} {
		commit(posthouse.Draft{Steps: []posthouse.Step{{
			Task: "1/n", Name: name, Effect: effect, Value: posthouse.Value{Codec: "json", Data: []byte("1")},
		}}})
	}
	asked := commit(posthouse.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}},
		Gates: []posthouse.Gate{
			{Task: "1/n", Name: "ok?"},
			{Task: "1/n", Name: "nap", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)},
		},
	})
	must[*posthouse.Gate](t)(l.Decide(ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	anew := commit(posthouse.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindAnew, Status: posthouse.StatusInterrupted, Next: []string{"n"}}})

	x := must[*posthouse.Execution](t)(l.Execution(ctx, anew.Checkpoint, "1/n"))
	if len(x.Steps) != 1 || x.Steps[0].Name != "pay" || !x.Steps[0].Loose {
		t.Errorf("results on record: %+v", x.Steps)
	}
	if len(x.Gates) != 1 || x.Gates[0].ID != asked.Gates[0].ID || x.Gates[0].Decision == nil {
		t.Errorf("questions on record: %+v", x.Gates)
	}
	if x.Edited != anew.Seq {
		t.Errorf("edited in entry %d, want %d", x.Edited, anew.Seq)
	}
}
