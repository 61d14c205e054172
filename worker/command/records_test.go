//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker/command"
	"github.com/posthouse/posthouse/worker/workertest"
)

// answered is a line that a program reads after a request.
type answered struct {
	OK      bool
	Waiting bool
	Value   json.RawMessage
	Answer  *command.Answer
	Act     *command.License
	Error   *posthouse.Error
}

// request asks, and ends the program where the answer is to wait.
func request(in *bufio.Reader, v any) (a answered) {
	if err := json.Unmarshal([]byte(ask(in, v)), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(8)
	}
	if a.Waiting {
		os.Exit(0)
	}
	return a
}

// refund pays back once, is killed when that is on record, asks a person, and waits for the
// parcel.
func refund(t command.Task, in *bufio.Reader) {
	var witness string
	_ = json.Unmarshal(t.Input, &witness)
	receipt := request(in, object{"step": "pay back"}).Value
	if receipt == nil {
		f, err := os.OpenFile(witness, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, "paid")
		f.Close()
		receipt = json.RawMessage(`{"receipt": 7}`)
		if a := request(in, object{"record": object{"step": "pay back", "value": receipt}}); !a.OK {
			panic(a.Error)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	a := request(in, object{"ask": object{"name": "tell them", "text": "Tell the customer?", "show": receipt, "expires": time.Hour}}).Answer
	parcel := request(in, object{"wait": object{"signal": "parcel", "timeout": time.Hour}}).Value
	say(object{"action": "complete", "output": fmt.Sprint(t.Attempt, raw(receipt), a.Verdict, a.By, raw(parcel))})
}

// TestAProgramRecordsAsksAndWaits: a step is done once though the program is killed after it,
// and a question and a signal park the task without an attempt.
func TestAProgramRecordsAsksAndWaits(t *testing.T) {
	s := newSite(t, "refund", time.Second)
	file := filepath.Join(t.TempDir(), "witness")
	s.begin("t", file)
	g := s.waits("t", func(g *posthouse.Gate) bool { return g.AsksPeople() })
	if g.Text != "Tell the customer?" || string(g.Payload) != `{"receipt":7}` || g.ExpiresAt.Sub(g.CreatedAt).Round(time.Minute) != time.Hour || !slices.Equal(g.Verdicts, []posthouse.Verdict{posthouse.Approve, posthouse.Reject}) {
		t.Errorf("%+v", g)
	}
	if _, err := s.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	s.waits("t", func(g *posthouse.Gate) bool { return g.Kind == posthouse.GateSignal })
	if _, err := s.l.Signal(t.Context(), "t", posthouse.Signal{Name: "parcel", Value: []byte(`"back"`)}); err != nil {
		t.Fatal(err)
	}
	if out, want := s.output("t"), `2{"receipt":7}approvealice"back"`; strings.ReplaceAll(out, " ", "") != want {
		t.Errorf("%s, want %s", out, want)
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != "paid\n" {
		t.Errorf("got %q, error %v", have, err)
	}
}

// waits waits until a thread has an open gate.
func (s *site) waits(thread string, is func(*posthouse.Gate) bool) *posthouse.Gate {
	s.Helper()
	for deadline := time.After(time.Minute); ; {
		for g, err := range s.l.Gates(s.Context(), ledger.GateQuery{Thread: thread, All: true}) {
			if err != nil {
				s.Fatal(err)
			}
			if is(g) {
				return g
			}
		}
		select {
		case <-deadline:
			s.Fatal("the gate is not opened")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// told are requests that do not fit, each with how its answer begins.
var told = []struct {
	request any
	answer  string
}{
	{object{"step": 5}, `{"error":{"code":"invalid","field":"step","message":"does not parse`},
	{object{"step": "a>b"}, `{"error":{"code":"invalid","field":"step"`},
	{object{"record": object{"step": "a", "value": 1}}, `{"error":{"code":"invalid","field":"record"`},
	{object{"step": "a"}, `{"ok":true}`},
	{object{"step": "a"}, `{"error":{"code":"conflict","field":"step"`},
	{object{"record": object{"step": "a", "valu": 1}}, `{"error":{"code":"invalid","field":"record","message":"does not parse`},
	{object{"record": object{"step": "a", "value": strings.Repeat("x", task.MaxStep)}}, `{"error":{"code":"too-large"`},
	{object{"record": object{"step": "a"}}, `{"ok":true}`},
	{object{"ask": "x"}, `{"error":{"code":"invalid","field":"ask","message":"does not parse`},
	{object{"ask": object{"name": ""}}, `{"error":{"code":"invalid","field":"question"`},
	{object{"ask": object{"name": "q", "expires": -1}}, `{"error":{"code":"invalid","field":"expires"`},
	{object{"ask": object{"name": "q", "verdicts": []string{"maybe"}}}, `{"error":{"code":"invalid","field":"verdicts"`},
	{object{"ask": object{"name": "q", "kind": "timer"}}, `{"error":{"code":"invalid","field":"kind"`},
	{object{"ask": object{"name": "q", "uses": 1}}, `{"error":{"code":"invalid","field":"show"`},
	{object{"ask": object{"name": "q", "uses": -1}}, `{"error":{"code":"invalid","field":"uses"`},
	{object{"ask": object{"name": "q", "validFor": 5}}, `{"error":{"code":"invalid","field":"uses"`},
	{object{"ask": object{"name": "q", "uses": 1, "show": 1, "edited": "\x00"}}, `{"error":{"code":"invalid","field":"edited"`},
	{object{"ask": object{"name": "q", "uses": 1, "show": 1, "verdicts": []string{"respond"}}}, `{"error":{"code":"invalid","field":"verdicts"`},
	{object{"act": object{"name": "pay", "grant": ""}}, `{"error":{"code":"invalid","field":"grant"`},
	{object{"act": object{"name": "pay", "grant": "gate-x"}}, `{"error":{"code":"forbidden","field":"grant"`},
	{object{"acted": object{"name": "pay", "value": 1}}, `{"error":{"code":"invalid","field":"acted"`},
	{object{"wait": object{"signal": "paid", "timeout": int64(1) << 62}}, `{"error":{"code":"invalid","field":"timeout"`},
	{object{"wait": object{"name": "paid"}}, `{"error":{"code":"invalid","field":"wait","message":"does not parse`},
	{object{"wait": object{"signal": ""}}, `{"error":{"code":"invalid","field":"signal"`},
	{object{"wait": object{"signal": "paid"}}, `{"waiting":true}`},
	{object{"ask": object{"name": "q"}}, `{"waiting":true}`},
	{object{"step": "left open"}, `{"ok":true}`},
}

// TestRequestsThatDoNotFit are answered with the field, and the program goes on. One that is
// told to wait and ends is parked; a step that it leaves open is not recorded.
func TestRequestsThatDoNotFit(t *testing.T) {
	var log bytes.Buffer
	wt := workertest.NewTask(1)
	err := program(t, "misfits", command.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Handle(wt)
	if err != posthouse.ErrWaiting || wt.Verdict() != nil {
		t.Errorf("%v, %+v\n%s", err, wt.Verdict(), log.String())
	}
	if asked := wt.Thread().Asked(); len(asked) != 1 || asked[0].Name != "q" {
		t.Errorf("asked %+v", asked)
	}
	wt = wt.Again()
	wt.Thread().Signal("paid", 42)
	if err := program(t, "finds a null", command.Options{}).Handle(wt); err != nil || wt.Verdict() == nil || string(wt.Verdict().Output) != `["null",false,"42"]` {
		t.Errorf("error %v, wt.Verdict() %+v", err, wt.Verdict())
	}
}

func misfits(_ command.Task, in *bufio.Reader) {
	for _, m := range told {
		if have := ask(in, m.request); !strings.HasPrefix(have, m.answer) {
			fmt.Fprintf(os.Stderr, "%v is answered with %s", m.request, have)
			os.Exit(1)
		}
	}
}

func findsANull(_ command.Task, in *bufio.Reader) {
	a := request(in, object{"step": "a"})
	open := request(in, object{"step": "left open"})
	paid := request(in, object{"wait": object{"signal": "paid"}})
	say(object{"action": "complete", "output": []any{raw(a.Value), open.Value != nil, raw(paid.Value)}})
}

// TestAWaitThatFails is no wait: the program was told to wait, and then went wrong.
func TestAWaitThatFails(t *testing.T) {
	wt := workertest.NewTask(1)
	err := program(t, "waits and fails", command.Options{}).Handle(wt)
	if err == nil || err == posthouse.ErrWaiting || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
}

// TestTheRefundInTheDocumentation runs the program that docs/workers.md shows: it is parked
// twice, and charges back once.
func TestTheRefundInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/refund.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```python\n"+string(script)+"```\n") {
		t.Fatal("docs/workers.md shows another program than testdata/refund.py")
	}
	p, err := command.New([]string{"python3", "testdata/refund.py"}, nil)
	if err != nil {
		t.Log("there is no python3: the program is not run")
		return
	}
	wt := workertest.NewTask(map[string]int{"id": 7})
	for _, comes := range []func(workertest.Thread){
		func(th workertest.Thread) {
			th.Answer("tell the customer", posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		},
		func(th workertest.Thread) { th.Signal("parcel returned", "in one piece") },
	} {
		if err := p.Handle(wt); err != posthouse.ErrWaiting {
			t.Fatal(err)
		}
		wt = wt.Again()
		comes(wt.Thread())
	}
	if err := p.Handle(wt); err != nil {
		t.Fatal(err)
	}
	want := `{"told":true,"parcel":"in one piece","order":7,"receipt":"gate-1"}`
	if v := wt.Verdict(); v == nil || string(v.Output) != want || wt.Attempt() != 1 {
		t.Errorf("%+v, want %s", v, want)
	}
}
