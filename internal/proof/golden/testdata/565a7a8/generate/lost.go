package main

import (
	"log"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// lostByWorkers has effects with workers that fell silent.
func (w *writer) lostByWorkers() {
	threads, verdicts := ways("away")
	for _, thread := range append(threads, "away-repaid") {
		w.lost(thread)
		v := verdicts[thread]
		if thread == "away-repaid" {
			v = posthouse.Approve
		}
		w.outcome(thread, v)
	}
	for _, thread := range []string{"away-gave-up", "away-happened", "away-repaid"} {
		w.goesOn(thread, "")
	}
	w.atDesk(func(k *desk) { k.gives(k.claims("away-repaid"), task.Verdict{Action: task.Complete, Output: paid}) })
	w.goesOn("away-repaid", "")
}

// lost has the worker of a thread's task fall silent, until people are asked.
func (w *writer) lost(thread string) {
	w.handed(thread)
	w.atDesk(func(k *desk) { k.claims(thread) })
	w.clock.forward(10 * time.Minute)
	w.atDesk(func(k *desk) {
		for range 400 {
			if c := must(k.d.Claim(k.ctx, k.session)); c != nil {
				log.Fatalf("another worker has the task of %s: %+v", thread, c)
			}
			if info := must(w.l.Thread(w.ctx, thread)); len(info.Waiting) == 0 {
				return
			}
			w.clock.forward(time.Second)
		}
		log.Fatalf("the task of %s stays with its worker", thread)
	})
	w.goesOn(thread, "")
	if _, asked := w.question(thread); !asked {
		w.goesOn(thread, "")
	}
}
