package main

import (
	"errors"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
)

// begins proposes a thread's payment.
func (w *writer) begins(thread, way string) {
	must(w.app.Run(w.ctx, thread, deal{Way: way, Amount: 10}, flow.RunOptions{By: "zoe"}))
	w.clock.forward(time.Second)
}

// goesOn has a thread go on; its run may fail.
func (w *writer) goesOn(thread, next string) {
	w.bank.next = next
	_, err := w.app.Resume(w.ctx, thread)
	var failed *flow.Error
	if err != nil && !errors.As(err, &failed) {
		check(err)
	}
	w.bank.next = ""
	w.clock.forward(time.Second)
}

// answers decides the only question of a thread.
func (w *writer) answers(thread string, v posthouse.Verdict, value string) {
	var open []*posthouse.Gate
	for g, err := range w.l.Gates(w.ctx, ledger.GateQuery{Thread: thread}) {
		check(err)
		open = append(open, g)
	}
	if len(open) != 1 {
		log.Fatalf("thread %s has %d questions", thread, len(open))
	}
	d := posthouse.Decision{Verdict: v, By: "alice"}
	if open[0].Kind == "outcome" {
		d.By = "olga"
	}
	if value != "" {
		d.Value = []byte(value)
	}
	must(w.l.Decide(w.ctx, open[0].ID, d))
	w.clock.forward(time.Second)
}

// licensed proposes a thread's payment and has it approved.
func (w *writer) licensed(thread, way string) {
	w.begins(thread, way)
	w.answers(thread, posthouse.Approve, "")
}

// die has another process go on with a thread, which dies in the middle of its effect.
func (w *writer) die(thread string) *writer {
	at := w.clock.now()
	w.close()
	err := exec.Command(os.Args[0], w.path, string(w.as), thread, at.Format(time.RFC3339)).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		log.Fatalf("thread %s does not die: %v", thread, err)
	}
	return open(w.path, w.as, at.Add(time.Second))
}

// inPlace has effects whose function runs in the program, in the states that threads are named by.
func (w *writer) inPlace() *writer {
	for _, thread := range []string{"here-begun", "here-idempotent-begun"} {
		w.licensed(thread, strings.TrimSuffix(thread, "-begun"))
		w = w.die(thread)
	}
	w.licensed("here-begun-asked", "here")
	w = w.die("here-begun-asked")
	w.clock.forward(2 * time.Hour) // its lease is over
	w.goesOn("here-begun-asked", "")

	w.begins("here-proposed", "here")
	w.begins("here-refused", "here")
	w.answers("here-refused", posthouse.Reject, "")
	w.licensed("here-licensed", "here")
	w.licensed("here-done", "here")
	w.goesOn("here-done", "")
	for thread, next := range map[string]string{
		"here-failed": "refuse", "here-reset": "reset", "here-unknown": "lose", "here-parts-failed": "reserve, refuse", "here-parts-unknown": "reserve, lose",
		"here-parked": "ask", "here-parked-answered": "ask", "here-parked-done": "ask",
	} {
		w.licensed(thread, "here")
		w.goesOn(thread, next)
	}
	for _, thread := range []string{"here-parked-answered", "here-parked-done"} {
		if _, waits := w.question(thread); waits { // an earlier version refuses a question there
			w.answers(thread, posthouse.Respond, `"savings"`)
		}
	}
	w.goesOn("here-parked-done", "ask")
	w.licensed("here-failed-twice", "here")
	w.goesOn("here-failed-twice", "refuse")
	w.goesOn("here-failed-twice", "refuse")
	w.licensed("here-twice", "here-twice")
	w.goesOn("here-twice", "refuse")
	w.licensed("here-idempotent-failed", "here-idempotent")
	w.goesOn("here-idempotent-failed", "refuse")
	w.licensed("here-idempotent-unknown", "here-idempotent")
	w.goesOn("here-idempotent-unknown", "lose")

	for thread, v := range map[string]posthouse.Verdict{
		"here-asked": "", "here-approved": posthouse.Approve, "here-responded": posthouse.Respond, "here-rejected": posthouse.Reject,
		"here-undone": posthouse.Approve, "here-repaid": posthouse.Approve, "here-failed-again": posthouse.Approve, "here-lost-again": posthouse.Approve, "here-gave-up": posthouse.Reject, "here-happened": posthouse.Respond,
		"here-reconciled-undone": "",
	} {
		way := "here"
		switch thread {
		case "here-reconciled-undone":
			way = "here-reconciled"
		case "here-undone":
			way = "here-valid"
		}
		w.licensed(thread, way)
		w.goesOn(thread, "lose")
		if way != "here-reconciled" {
			w.goesOn(thread, "")
			w.outcome(thread, v)
		}
	}
	for thread, next := range map[string]string{"here-repaid": "", "here-failed-again": "refuse", "here-lost-again": "lose", "here-gave-up": "", "here-happened": ""} {
		w.goesOn(thread, next)
	}
	w.goesOn("here-lost-again", "") // asks of the second attempt
	w.clock.forward(25 * time.Hour) // the approvals are over: these are known not to have acted, and asked for again
	for _, thread := range []string{"here-undone", "here-reconciled-undone"} {
		w.goesOn(thread, "")
	}
	return w
}

// question returns a thread's first question, if people are asked one.
func (w *writer) question(thread string) (g *posthouse.Gate, asked bool) {
	for g, err := range w.l.Gates(w.ctx, ledger.GateQuery{Thread: thread}) {
		check(err)
		return g, true
	}
	return nil, false
}

// outcome answers the question about an unknown outcome; "" leaves it open.
func (w *writer) outcome(thread string, v posthouse.Verdict) {
	if g, asked := w.question(thread); !asked || g.Kind != "outcome" {
		log.Fatalf("thread %s asks %+v", thread, g)
	}
	if v == "" {
		return
	}
	value := ""
	if v == posthouse.Respond {
		value = `"receipt 7"`
	}
	w.answers(thread, v, value)
}

// ways are the answers about the outcomes of workers.
func ways(prefix string) (threads []string, verdicts map[string]posthouse.Verdict) {
	verdicts = map[string]posthouse.Verdict{
		prefix + "-asked": "", prefix + "-approved": posthouse.Approve, prefix + "-responded": posthouse.Respond,
		prefix + "-rejected": posthouse.Reject, prefix + "-gave-up": posthouse.Reject, prefix + "-happened": posthouse.Respond,
	}
	for thread := range verdicts {
		threads = append(threads, thread)
	}
	slices.Sort(threads)
	return threads, verdicts
}
