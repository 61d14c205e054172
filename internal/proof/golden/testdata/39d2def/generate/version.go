// Command generate is that of 565a7a8 with this file in place of handler.go and lost.go: 39d2def has no effects of
// handlers. See the README of testdata.
package main

import (
	"time"

	"github.com/posthouse/posthouse/task"
)

func hello() task.Hello {
	return task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"pay"}, AtOnce: 50}
}

// lostByWorkers has effects with workers that fell silent: at this commit another one has the task then.
func (w *writer) lostByWorkers() {
	for _, thread := range []string{"away-lost", "away-lost-done"} {
		w.handed(thread)
		w.atDesk(func(k *desk) { k.claims(thread) })
		w.clock.forward(10 * time.Minute)
		w.atDesk(func(k *desk) {
			c := k.claims(thread)
			if thread == "away-lost-done" {
				k.gives(c, task.Verdict{Action: task.Complete, Output: paid})
				return
			}
			k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: "the bank refused"})
		})
		w.goesOn(thread, "")
	}
}

// Handlers proposed nothing at this commit.
func (w *writer) handlers()     {}
func (w *writer) handlersLeft() {}
