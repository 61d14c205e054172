package gates

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// claimRounds is how often a claim meets a withdrawal.
const claimRounds = 10

func ledgerClaimOrWithdrawal(t *desk.T) {
	here, there := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	for i := range claimRounds {
		thread := fmt.Sprint("t", i)
		done, err := here.Commit(t.Ctx, &ledger.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
			Gates: []posthouse.Gate{{
				Name: "pay>hand out", Task: taskOf, Kind: posthouse.GateTask, Payload: []byte(`1`),
				Call: &posthouse.TaskCall{Task: "pay", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}, Grant: "gate-of-people", Use: "pay", Effect: posthouse.EffectExternal},
			}},
		})
		t.OK(err)
		g := &done.Gates[0]
		var claimed error
		var both sync.WaitGroup
		both.Go(func() { claimed = commit.ClaimUse(t.Ctx, there.Core(), commit.RefOf(g), "worker:w") })
		both.Go(func() {
			_, err = here.Cancel(t.Ctx, thread, nil)
		})
		both.Wait()
		t.OK(err)
		refused := errors.Is(claimed, posthouse.ErrDecided) || errors.Is(claimed, posthouse.ErrConflict)
		if claimed != nil && !refused {
			t.Errorf("round %d: the claim: %v", i, claimed)
		}
		claim, withdrawal := order(here, thread, g.ID)
		switch {
		case withdrawal == 0:
			t.Errorf("round %d: nothing was withdrawn", i)
		case claimed == nil && (claim == 0 || claim > withdrawal):
			t.Errorf("round %d: a worker has the task, by entry %d, which entry %d has withdrawn", i, claim, withdrawal)
		case refused && claim != 0:
			t.Errorf("round %d: a refused claim is entry %d", i, claim)
		}
	}
}

// order returns the entries that claim a task and decide its gate, 0 for an absent one.
func order(d *desk.Desk, thread string, gate posthouse.ID) (claim, decision uint64) {
	d.Helper()
	for e, err := range d.Log(d.Ctx, thread, posthouse.Range{}) {
		d.OK(err)
		for _, ev := range e.Events {
			switch {
			case ev.Step != nil && strings.HasSuffix(ev.Step.Name, handler.Nested+effect.RecordClaimed):
				claim = ev.Seq
			case ev.Decision != nil && ev.Decision.Gate == gate:
				decision = ev.Seq
			}
		}
	}
	return claim, decision
}
