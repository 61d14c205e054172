package main

import (
	"log"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

func hello() task.Hello {
	return task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"pay"}, Concurrency: 50}
}

const nonce = "0123456789abcdef"

// payment is what a handler asks about its transfer, as it travels.
func payment() *posthouse.Gate {
	return &posthouse.Gate{
		Name: "pay", Kind: posthouse.GateApproval, Text: "Pay?", Payload: []byte(`{"To":"bob","Amount":10}`), Uses: 1,
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
	}
}

// proposes has a handler propose its payment.
func (w *writer) proposes(thread string) {
	w.begins(thread, "handler")
	w.atDesk(func(k *desk) {
		k.gives(k.claims(thread), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: payment()}}})
	})
	w.goesOn(thread, "")
}

// grants has it approved, and the task handed out again.
func (w *writer) grants(thread string) posthouse.ID {
	w.proposes(thread)
	g, _ := w.question(thread)
	w.answers(thread, posthouse.Approve, "")
	w.goesOn(thread, "")
	return g.ID
}

func use(grant posthouse.ID) task.Use {
	return task.Use{Name: "pay", Grant: grant, Schema: []byte(`{"type":"string"}`)}
}

// acts has a handler begin its effect.
func (k *desk) acts(c *task.Claim, grant posthouse.ID) {
	if b := must(k.d.Begin(k.ctx, c.ID, task.Beginning{Use: use(grant), Nonce: nonce + string(c.ID.Gate)})); !b.Begins {
		log.Fatalf("thread %s does not begin: %+v", c.Thread, b)
	}
	k.clock.forward(time.Second)
}

func (k *desk) ends(c *task.Claim, result, failed string) {
	n := task.Ending{Name: "pay", Nonce: nonce + string(c.ID.Gate), Failed: failed}
	if result != "" {
		n.Result = &posthouse.Value{Codec: "json", Data: []byte(result)}
	}
	check(k.d.End(k.ctx, c.ID, n))
	k.clock.forward(time.Second)
}

// handlers has effects that the handler of a worker proposes and makes.
func (w *writer) handlers() {
	w.proposes("handler-proposed")
	w.proposes("handler-licensed")
	w.answers("handler-licensed", posthouse.Approve, "")
	end := func(thread, result, failed string, v task.Verdict) {
		grant := w.grants(thread)
		w.atDesk(func(k *desk) {
			c := k.claims(thread)
			k.acts(c, grant)
			k.ends(c, result, failed)
			k.gives(c, v)
		})
		w.goesOn(thread, "")
	}
	end("handler-done", `"paid"`, "", task.Verdict{Action: task.Complete, Output: paid})
	end("handler-failed", "", "the bank refused", task.Verdict{Action: task.FailPermanent, Reason: "the bank refused"})
	end("handler-done-task-failed", `"paid"`, "", task.Verdict{Action: task.FailPermanent, Reason: "the printer is out of paper"})

	threads, verdicts := ways("handler")
	for _, thread := range append(threads, "handler-repaid", "handler-lost-unasked") {
		grant := w.grants(thread)
		w.atDesk(func(k *desk) { k.acts(k.claims(thread), grant) })
		w.clock.forward(10 * time.Minute) // its worker is silent
		w.atDesk(func(k *desk) {
			c := k.claims(thread) // another attempt
			if thread == "handler-lost-unasked" {
				k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: "the worker is shut down"})
				return
			}
			u := use(grant)
			if b := must(k.d.Begin(k.ctx, c.ID, task.Beginning{Use: u, Nonce: nonce + "again"})); !b.Waits {
				log.Fatalf("thread %s: %+v", thread, b)
			}
			k.gives(c, task.Verdict{Action: task.Await, Waits: []task.Wait{{Act: &u}}})
		})
		w.goesOn(thread, "")
		if thread == "handler-lost-unasked" {
			continue
		}
		v := verdicts[thread]
		if thread == "handler-repaid" {
			v = posthouse.Approve
		}
		w.outcome(thread, v)
		if thread == "handler-repaid" || thread == "handler-gave-up" || thread == "handler-happened" {
			w.goesOn(thread, "")
		}
		w.atDesk(func(k *desk) {
			switch thread {
			case "handler-gave-up":
				c := k.claims(thread)
				_, err := k.d.Begin(k.ctx, c.ID, task.Beginning{Use: use(grant), Nonce: nonce + "given up"})
				k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: err.Error()})
			case "handler-happened":
				c := k.claims(thread)
				if b := must(k.d.Begin(k.ctx, c.ID, task.Beginning{Use: use(grant), Nonce: nonce + "happened"})); b.Result == nil {
					log.Fatalf("thread %s: %+v", thread, b)
				}
				k.gives(c, task.Verdict{Action: task.Complete, Output: []byte(`"receipt 7"`)})
			case "handler-repaid":
				c := k.claims(thread)
				k.acts(c, grant)
				k.ends(c, `"paid"`, "")
				k.gives(c, task.Verdict{Action: task.Complete, Output: paid})
			}
		})
		if thread == "handler-repaid" || thread == "handler-gave-up" || thread == "handler-happened" {
			w.goesOn(thread, "")
		}
	}
}

// handlersLeft has tasks that stay open.
func (w *writer) handlersLeft() {
	grant := w.grants("handler-begun")
	w.atDesk(func(k *desk) { k.acts(k.claims("handler-begun"), grant) })
	w.grants("handler-open")
}
