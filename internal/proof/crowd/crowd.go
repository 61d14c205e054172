package crowd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// writers is how many threads are written at once: they share the store's syncs.
const writers = 64

// programs are the names that threads take in turn.
var programs = []string{"invoice", "refund", "research", "contract", "newsletter"}

// statuses are what threads are in turn. No program goes on with any of them.
var statuses = []posthouse.Status{
	posthouse.StatusDone, posthouse.StatusDone, posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusDone,
	posthouse.StatusWaiting, posthouse.StatusDone, posthouse.StatusInterrupted, posthouse.StatusDone, posthouse.StatusCancelled,
}

// Threads writes n threads of one entry each: crowd-0000000 and so on, of five programs, with labels. One of ten
// waits with a question.
func Threads(ctx context.Context, l *ledger.Ledger, n int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var work sync.WaitGroup
	for range writers {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if _, err := l.Commit(ctx, thread(i)); err != nil {
					stop(fmt.Errorf("thread %d: %w", i, err))
				}
			}
		})
	}
	work.Wait()
	return context.Cause(ctx)
}

// thread returns the only entry of a thread.
func thread(i int) *ledger.Draft {
	program, status := programs[i%len(programs)], statuses[(i/len(programs))%len(statuses)]
	d := &ledger.Draft{Thread: fmt.Sprintf("crowd-%07d", i), Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: status, Graph: program, Node: "pay", Coordination: fmt.Sprint("customer-", i%997),
		Labels: map[string]string{"customer": fmt.Sprint("C-", i%997), "team": []string{"finance", "support", "legal"}[i%3]},
		State:  state(i),
	}}
	switch status {
	case posthouse.StatusFailed:
		d.Checkpoint.Error, d.Checkpoint.Next = "the bank refuses: the limit is used up", []string{"pay"}
	case posthouse.StatusInterrupted:
		d.Checkpoint.Next = []string{"pay"}
	case posthouse.StatusWaiting:
		d.Checkpoint.Kind, d.Checkpoint.Next = posthouse.KindWait, []string{"pay"}
		d.Gates = []posthouse.Gate{{Name: "pay-" + program, Text: fmt.Sprintf("Pay %d.00 EUR for %d?", 1+i%900, i), Payload: state(i)[posthouse.OpaquePart].Data}}
	}
	return d
}

func state(i int) posthouse.State {
	return posthouse.State{posthouse.OpaquePart: {Codec: posthouse.JSON.Name(), Data: fmt.Appendf(nil, `{"number":%d,"amount":%d.00}`, i, 1+i%900)}}
}

// Long writes a thread of so many checkpoints, which end on so many branches beside main: forks at places
// spread over main, each with a share of half of the checkpoints.
func Long(ctx context.Context, l *ledger.Ledger, name string, checkpoints, branches int) error {
	share := checkpoints / 2 / max(branches, 1)
	main := checkpoints - share*branches
	var from []posthouse.ID
	for i := range main {
		id, err := step(ctx, l, name, posthouse.MainBranch, i)
		if err != nil {
			return err
		}
		if branches > 0 && (i+1)%max(main/branches, 1) == 0 && len(from) < branches {
			from = append(from, id)
		}
	}
	for b, id := range from {
		f, err := l.Fork(ctx, id, &ledger.ForkOptions{By: "alice"})
		if err != nil {
			return err
		}
		for i := range share - 1 { // the fork's first is one
			if _, err := step(ctx, l, name, f.Branch, main+b*share+i); err != nil {
				return err
			}
		}
	}
	return nil
}

// step writes the next checkpoint of a branch.
func step(ctx context.Context, l *ledger.Ledger, name, branch string, i int) (posthouse.ID, error) {
	c, err := l.Commit(ctx, &ledger.Draft{Thread: name, Branch: branch, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusInterrupted, Graph: "research", Node: []string{"analyze", "read", "weigh"}[i%3],
		Next: []string{"analyze"}, State: state(i),
	}})
	if err != nil {
		return "", err
	}
	return c.Checkpoint.ID, nil
}
