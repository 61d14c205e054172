package snippets_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Claim struct{ Item, Step string }

func opaque(v any) posthouse.State { return must(posthouse.Opaque(nil, v)) }

func Example_atmosphereStore() {
	ctx := context.Background()
	//doc:store
	store := memstore.New() // or sqlitestore.Open(ctx, "checkpoints.db", nil)
	led := must(ledger.Open(store, &ledger.Options{MaxCheckpoints: 10_000}))
	defer led.Close()

	root := must(led.Save(ctx, posthouse.Root("coord-42", opaque(Claim{"tea", "received"})), nil))
	next := must(led.Save(ctx, root.Derive(opaque(Claim{"tea", "packed"})), nil))

	latest := must(led.Latest(ctx, ledger.LatestQuery{Coordination: "coord-42"}))
	state := must(posthouse.Decode[Claim](latest.State[posthouse.OpaquePart]))

	branch := must(led.Fork(ctx, latest.ID, &ledger.ForkOptions{Replace: opaque(Claim{"tea", "returned"})}))
	//doc:end
	fmt.Println(next.Parent == root.ID, state.Step, branch.Parent == latest.ID, branch.Coordination)

	//doc:list
	for h, err := range led.List(ctx, posthouse.Query{Coordination: "coord-42", Limit: 100}) {
		ok(err)
		fmt.Println(h.Kind, h.Step, h.Size)
	}
	//doc:end

	//doc:delete
	_, err := retain.Delete(ctx, led, root.ID, nil) // it has children
	fmt.Println(errors.Is(err, posthouse.ErrConflict))
	gone := must(retain.DeleteCoordination(ctx, led, "coord-42", nil))
	fmt.Println(gone.Checkpoints)
	//doc:end
	// Output:
	// true packed true coord-42
	// save 0 32
	// save 1 30
	// fork 1 32
	// true
	// 3
}

func Example_atmosphereListener() {
	ctx := context.Background()
	counter := map[string]int{}
	//doc:listener
	led := must(ledger.Open(memstore.New(), &ledger.Options{Observer: func(op posthouse.Operation) {
		if op.Kind == posthouse.OpSaved {
			counter[op.Coordination]++
		}
	}}))
	//doc:end
	root := must(led.Save(ctx, posthouse.Root("coord-42", nil), nil))
	must(led.Save(ctx, root.Derive(nil), nil))
	fmt.Println(counter)
	//doc:leaving
	listening, leave := context.WithCancel(ctx)
	defer leave()
	for e, err := range led.Watch(listening, ledger.WatchQuery{}) { // from the first entry on
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, "of", e.Thread)
		leave() // removeListener
	}
	//doc:end
	// Output:
	// map[coord-42:2]
	// checkpoint of coord-42
}

func Example_atmosphereJournal() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	analyze := func(context.Context, coord.Call) (coord.Result, error) { return coord.Result{Text: "low risk"}, nil }
	//doc:journal
	journal := must(coord.Checkpointing(
		&coord.MemoryJournal{},
		led,
		coord.OnAgentBoundaries,
		coord.WholeEvent,
	))
	fleet := must(coord.NewFleet(coord.Agent{
		Name: "analyzer", Description: "Analyzes a request and produces a recommendation",
		Skills: map[string]coord.Skill{"analyze": analyze},
	}))
	dispatch := must(coord.New(led, "dispatch", fleet, handle, &coord.Options{Journal: journal}))
	reply := must(dispatch.Handle(ctx, "please refund order 1234", nil))
	//doc:end
	fmt.Println(reply.Status, reply.Text)

	//doc:journal-read
	last := must(journal.LastCheckpoint(ctx, "dispatch"))
	fmt.Println(last.Agent, last.IsRoot())
	var text strings.Builder
	ok(coord.WriteLog(ctx, &text, journal, coord.EventQuery{Coordination: "dispatch"}))
	//doc:end
	// Output:
	// waiting low risk
	// analyzer true
}

//doc:handler
func handle(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
	analysis, err := fleet.Agent("analyzer").Call(ctx, "analyze", map[string]string{"request": message})
	if err != nil {
		return err
	}
	if !analysis.Success {
		session.Stream("Analyzer failed: " + analysis.Text)
		return nil
	}
	session.Stream(analysis.Text)

	a, err := gate.Ask[Claim](ctx, gate.Question{Name: "refund", Show: analysis.Data, Expires: 48 * time.Hour})
	if err != nil {
		return err // posthouse.ErrWaiting: the stream ends, nothing is held
	}
	if !a.Approved() {
		return nil
	}
	done, err := fleet.Agent("approver").Call(ctx, "execute", map[string]string{"request": message, "by": a.By})
	if err != nil {
		return err
	}
	session.Stream(done.Text)
	return nil
}

//doc:end

func Example_atmosphereApprove() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	skill := func(text string) coord.Skill {
		return func(context.Context, coord.Call) (coord.Result, error) { return coord.Result{Text: text}, nil }
	}
	fleet := must(coord.NewFleet(
		coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"analyze": skill("low risk")}},
		coord.Agent{Name: "approver", Skills: map[string]coord.Skill{"execute": skill("Executed")}},
	))
	journal := must(coord.Checkpointing(coord.Discard{}, led, coord.OnAgentBoundaries, coord.WholeEvent))
	dispatch := must(coord.New(led, "dispatch", fleet, handle, &coord.Options{Journal: journal}))
	reply := must(dispatch.Handle(ctx, "please refund order 1234", nil))

	//doc:approve
	must(led.Decide(ctx, reply.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Reason: "within the limit"}))
	reply = must(dispatch.Resume(ctx, reply.Thread, nil)) // the server's runner does this
	//doc:end
	child := must(led.Get(ctx, reply.Checkpoint))
	fmt.Println(reply.Status, child.Agent, child.Parent != "")
	// Output: done approver true
}

func Example_atmosphereSession() {
	type Payment struct{ Amount int }
	ctx := context.Background()
	//doc:session
	pay := gate.Require(func(ctx context.Context, p Payment) (string, error) {
		return fmt.Sprintf("paid %d", p.Amount), nil
	}, gate.Approval{Tool: "pay", Message: "Pay this order?", Timeout: 5 * time.Minute})

	asked := make(chan *posthouse.Gate, 1)
	chat := gate.NewSession(&gate.SessionOptions{
		By:       "alice",
		Announce: func(g *posthouse.Gate) error { asked <- g; return nil }, // show it to the user
		Policy:   nil,                                                      // or gate.AllowAll, gate.DenyAll, a function
	})
	defer chat.Close() // the connection ends: what still waits is denied
	//doc:end
	go func() {
		g := <-asked
		//doc:receive
		chat.Receive("/__approval/"+string(g.ID)+`/approve {"arguments":{"Amount":20}}`, "alice")
		//doc:end
	}()
	fmt.Println(pay(chat.With(ctx), Payment{40}))
	// Output: paid 20 <nil>
}

func Example_atmosphereCancel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	began := make(chan struct{})
	fleet := must(coord.NewFleet(coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{
		"analyze": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			close(began)
			<-ctx.Done()
			return coord.Result{}, ctx.Err()
		},
	}}))
	dispatch := must(coord.New(led, "dispatch", fleet, handle, nil))
	//doc:cancel
	h := coord.NewHandle()
	go func() {
		<-began
		h.Cancel() // any goroutine, any number of times
	}()
	_, err := dispatch.Handle(ctx, "please refund order 1234", &coord.HandleOptions{Handle: h})
	<-h.Done()
	fmt.Println(h.Reason(), errors.Is(err, posthouse.ErrCancelled))
	//doc:end
	// Output: cancelled true
}

func Example_atmosphereEffects() {
	ctx := context.Background()
	refund := func(_ context.Context, key string) (string, error) { return "receipt for " + key, nil }
	//doc:effect
	execute := func(ctx context.Context, call coord.Call) (coord.Result, error) {
		receipt, err := step.DoWith(ctx, "refund", step.Options{Effect: posthouse.EffectExternal},
			func(ctx context.Context) (string, error) { return refund(ctx, step.Key(ctx)) })
		return coord.Result{Text: receipt}, err
	}
	//doc:end
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	fleet := must(coord.NewFleet(coord.Agent{Name: "approver", Skills: map[string]coord.Skill{"execute": execute}}))
	c := must(coord.New(led, "dispatch", fleet, func(ctx context.Context, _ string, f *coord.Fleet, s *coord.Session) error {
		r, err := f.Agent("approver").Call(ctx, "execute", nil)
		s.Stream(r.Text)
		return err
	}, nil))
	fmt.Println(must(c.Handle(ctx, "order 1234", &coord.HandleOptions{Thread: "order-1234"})).Text)
	// Output: receipt for order-1234/1/dispatch/agent:approver.execute>refund/0
}

func Example_atmosphereCipher() {
	ctx := context.Background()
	key := make([]byte, 32)
	key[0] = 1
	//doc:cipher
	ring := must(crypt.NewKeyring(map[string][]byte{"2026": key}, "2026"))
	led := must(ledger.Open(memstore.New(), &ledger.Options{Cipher: ring}))
	fmt.Println(led.EncryptionStatus().EncryptsAtRest, led.EncryptionStatus().EncryptionKey)
	//doc:end
	must(led.Save(ctx, posthouse.Root("coord-42", opaque("secret")), nil))
	// Output: true 2026
}
