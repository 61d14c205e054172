//go:build unix

package command_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/worker/command"
)

// pays proposes a payment, and makes it: it does not the first time, is killed in the middle of it the
// second time, and goes on after that.
func pays(t command.Task, in *bufio.Reader) {
	var witness string
	_ = json.Unmarshal(t.Input, &witness)
	a := request(in, object{"ask": object{
		"name": "pay", "text": "Pay this?", "show": object{"amount": 40}, "uses": 1, "validFor": time.Hour, "verdicts": []string{"approve", "reject", "edit"},
	}}).Answer
	r := request(in, object{"act": object{"name": "pay", "grant": a.Gate}})
	if r.Error != nil {
		panic(r.Error)
	}
	if r.Act != nil {
		if again := request(in, object{"act": object{"name": "pay", "grant": a.Gate}}); again.Error == nil || again.Error.Code != posthouse.CodeConflict {
			panic("it began twice")
		}
		if t.Attempt == 1 {
			request(in, object{"acted": object{"name": "pay", "failed": "the bank is shut", "notDone": true}})
			say(object{"action": "fail", "reason": "the bank is shut"})
			return
		}
		f, err := os.OpenFile(witness, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, raw(r.Act.Content), r.Act.Key, r.Act.By)
		f.Close()
		if lines, err := os.ReadFile(witness); err != nil || strings.Count(string(lines), "\n") == 1 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if done := request(in, object{"acted": object{"name": "pay", "value": object{"receipt": 7}}}); !done.OK {
			panic(done.Error)
		}
		r = request(in, object{"act": object{"name": "more", "grant": a.Gate}})
		if r.Error == nil || r.Error.Code != posthouse.CodeForbidden {
			panic("two effects on one approval")
		}
	}
	say(object{"action": "complete", "output": "paid"})
}

// TestAProgramIsKilledInItsEffect: a program acts on what was approved, edited as it was. One that is killed
// in the middle does not act again before a person has said that it did not, and then under the same key.
func TestAProgramIsKilledInItsEffect(t *testing.T) {
	s := newSite(t, "pays", time.Second)
	file := filepath.Join(t.TempDir(), "witness")
	s.begin("t", file)
	g := s.waits("t", func(g *posthouse.Gate) bool { return g.Uses == 1 })
	if _, err := s.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"amount":20}`)}); err != nil {
		t.Fatal(err)
	}
	q := s.waits("t", func(g *posthouse.Gate) bool { return g.Kind == gate.KindOutcome })
	if string(q.Payload) != `{"amount":20}` {
		t.Errorf("%+v", q)
	}
	if grant, err := ledger.ReadGrant(t.Context(), s.l, g.ID); err != nil || grant.Status != grants.Unknown || len(grant.Uses) != 1 || grant.Uses[0].Failed != 1 {
		t.Errorf("grant %+v, error %v", grant, err)
	}
	if have, err := os.ReadFile(file); err != nil || strings.Count(string(have), "\n") != 1 {
		t.Errorf("got %q, error %v", have, err)
	}
	if _, err := s.l.Decide(t.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Redo, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	if out := s.output("t"); out != "paid" {
		t.Error(out)
	}
	have, err := os.ReadFile(file)
	lines := strings.Split(string(have), "\n")
	if err != nil || len(lines) != 3 || lines[0] != lines[1] || !strings.HasPrefix(lines[0], `{"amount":20}`) {
		t.Errorf("got %q, error %v", have, err)
	}
	if grant, err := ledger.ReadGrant(t.Context(), s.l, g.ID); err != nil || grant.Status != grants.Executed || string(grant.Uses[0].Result.Data) != `{"receipt":7}` {
		t.Errorf("grant %+v, error %v", grant, err)
	}
}
