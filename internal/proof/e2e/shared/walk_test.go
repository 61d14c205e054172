//go:build unix

package shared

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// A fault is what becomes of the process that runs a step, and how it comes back.
type fault struct {
	name       string
	begin, end func(p *process, way *proxy) // nil: it is gone for good
}

var faults = []fault{
	{"killed", func(p *process, _ *proxy) { p.kill() }, nil},
	{"frozen", func(p *process, _ *proxy) { p.signal(syscall.SIGSTOP) }, func(p *process, _ *proxy) { p.signal(syscall.SIGCONT) }},
	{"cut off", func(_ *process, way *proxy) { way.cut.Lock() }, func(_ *process, way *proxy) { way.cut.Unlock() }},
}

// Another process goes on within goesOn, by the defaults: a claim is seen 1 s late at most,
// the lease has 3 s, and free threads are looked for each 0.5 s. That is 4.5 s, and half a
// second for the work. All measured processes share two cores with other tests. slack
// allows for that load: it is as much again, and with a lease of 10 s the test would still
// fail.
const (
	goesOn = 5 * time.Second
	slack  = 5 * time.Second
)

var stores atomic.Int64 // that tests have made

// TestWalk has three processes on one store: one serves HTTP, two run programs. The one
// that runs a step is killed, frozen, or cut off from the store. Another goes on; the lost
// one writes nothing when it is back, though its step has ended by then; the approval is
// decided through the third; and one of the two goes on with it.
func TestWalk(t *testing.T) {
	for _, s := range backends {
		for _, f := range faults {
			if testing.Short() && (s.name != "redis" || f.name != "killed") {
				continue // the stores' own tests cover the differences
			}
			t.Run(s.name+" "+f.name, func(t *testing.T) {
				t.Parallel() // most of the time all wait
				walk(t, s, f)
			})
		}
	}
}

func walk(t *testing.T, s backend, f fault) {
	name := fmt.Sprint("walk", stores.Add(1))
	direct, network, addr := s.at(t, name)
	h := newHouse(t, direct)
	way := newProxy(t, network, addr)
	web, a := h.start("web", direct, false), h.start("a", s.through(name, way.l.Addr().String()), true)
	h.start("b", direct, true)
	events := web.follow("t")

	a.begin("t")
	lost := h.next(true, "first")
	if lost.Process != "a" {
		t.Fatalf("the request to a is run by %s", lost.Process)
	}
	begun := time.Now()
	f.begin(a, way)
	other := h.next(true, "first")
	took := time.Since(begun)
	t.Logf("process b goes on %.2f s after a was %s", took.Seconds(), f.name)
	if took > goesOn+slack {
		t.Errorf("process b goes on %v after a was %s, which is later than %v with %v for a loaded machine", took, f.name, goesOn, slack)
	}
	if other.Process != "b" {
		t.Fatalf("process %s goes on", other.Process)
	}
	if f.end != nil {
		h.goOn(lost) // its step ends while it is away
		f.end(a, way)
		if r := h.next(false, "first"); r.Process != "a" || r.Code != string(posthouse.CodeFenced) && r.Code != string(posthouse.CodeConflict) {
			t.Errorf("the lost process recorded its step: %+v", r)
		}
	} else {
		lost.conn.Close()
	}
	h.goOn(other)
	if r := h.next(false, "first"); r.Process != "b" || r.Code != "" {
		t.Fatalf("process %s could not record its step: %q", r.Process, r.Code)
	}
	h.await(events, "gate") // appended by b, seen by web

	answer := approve(h, web)
	winner := h.next(true, "last")
	t.Logf("process %s goes on with the approval", winner.Process)
	h.goOn(winner)
	for r := h.next(false, "last"); r.Process != winner.Process || r.Code != ""; r = h.next(false, "last") {
		// The other saw the decision as well. It finds what is on record, or is refused.
		if r.Process == winner.Process {
			t.Fatalf("process %s could not record its step: %q", r.Process, r.Code)
		}
	}
	if a := <-answer; a.status != http.StatusOK || !strings.Contains(a.body, `"done"`) {
		t.Errorf("the third process answers %d %s", a.status, a.body)
	}
	for len(h.reports) > 0 {
		if r := <-h.reports; r.Begins {
			t.Errorf("a step too many: %+v", r)
		}
	}
	h.checkLog("first by b", "last by "+winner.Process)
}

// An answer is what a server said.
type answer struct {
	status int
	body   string
}

// approve decides the open gate of the thread at a process. The answer comes when the
// program has gone on, elsewhere.
func approve(h *house, at *process) <-chan answer {
	h.Helper()
	info, err := h.led.Thread(h.ctx, "t")
	if err != nil || len(info.Waiting) != 1 {
		h.Fatalf("info %v, error %v", info, err)
	}
	list, err := tokens.Open(at.dir, nil)
	if err != nil {
		h.Fatal(err)
	}
	secret, err := list.Create("alice", tokens.Approver, nil)
	if err != nil {
		h.Fatal(err)
	}
	alice := *at // who asked may not approve
	alice.token = secret
	answers := make(chan answer, 1)
	go func() {
		status, body := alice.call(http.MethodPost, "/api/gates/"+string(info.Waiting[0].ID)+"/approve", `{"reason":"fine"}`)
		if status != http.StatusOK {
			h.Errorf("approving at the third process: %d %s", status, body)
		}
		answers <- answer{status, body}
	}()
	return answers
}

// checkLog checks that the log has one result of each step, one decision, and the state
// with what was done.
func (h *house) checkLog(did ...string) {
	h.Helper()
	var steps []string
	decisions, fence := 0, uint64(0)
	for e, err := range h.led.Log(h.ctx, "t", posthouse.Range{}) {
		if err != nil {
			h.Fatal(err)
		}
		for _, r := range e.Records {
			switch {
			case r.Claim != nil && !r.Claim.Unclaim:
				if r.Claim.Fence <= fence {
					h.Errorf("entry %d claims with fence %d after %d", e.Seq, r.Claim.Fence, fence)
				}
				fence = r.Claim.Fence
			case r.Decision != nil:
				decisions++
			case r.Step != nil && !strings.HasPrefix(r.Step.Name, "$"):
				steps = append(steps, r.Step.Name)
			}
		}
	}
	if decisions != 1 || !slices.Equal(steps, []string{"first", "last"}) {
		h.Errorf("the log has %d decisions and the steps %q", decisions, steps)
	}
	head, err := h.led.Latest(h.ctx, ledger.LatestQuery{Thread: "t"})
	if err != nil {
		h.Fatal(err)
	}
	if state := string(head.State["Did"].Data); !strings.Contains(state, `"`+strings.Join(did, `","`)+`"`) {
		h.Errorf("the state says %s, want %q", state, did)
	}
}
