package main

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

func text(s string) posthouse.Value { return must(posthouse.Encode(nil, s)) }

func (w *writer) save(c *posthouse.Checkpoint) *posthouse.Checkpoint {
	return must(w.l.Save(w.ctx, c, nil))
}

// line saves n checkpoints of a thread, one after the other.
func (w *writer) line(thread string, n int) []*posthouse.Checkpoint {
	c := posthouse.Root(thread, posthouse.State{"n": text("0")})
	c.Coordination = "may"
	all := []*posthouse.Checkpoint{w.save(c)}
	for i := 1; i < n; i++ {
		c := all[i-1].Derive(posthouse.State{"n": text(fmt.Sprint(i)), "words": text(strings.Repeat(fmt.Sprint("word ", i, " "), i%7))})
		c.Metadata = map[string]string{"by hand": fmt.Sprint(i)}
		if i%4 == 0 {
			c.Labels = map[string]string{"team": "blue"}
		}
		all = append(all, w.save(c))
	}
	return all
}

// threads leaves threads that were saved by hand.
func (w *writer) threads() {
	// A chat whose messages are spliced, beyond a full list of parts.
	chat := w.save(posthouse.Root("chat", posthouse.State{"messages": {Codec: "json", Data: []byte(`[]`)}, "title": text("a chat")}))
	size, parent := 2, chat.ID
	for i := range 40 {
		message := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("so it goes ", 1+i%5))
		if i > 0 {
			message = "," + message
		}
		done := must(w.l.Commit(w.ctx, &posthouse.Draft{Thread: "chat", Head: &parent, Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "messages", Splice: true, Prefix: size - 1, Suffix: 1, Data: []byte(message)}},
			Run:   "run-1", By: "zoe",
		}}))
		size, parent = size+len(message), done.Checkpoint.ID
	}

	// Values of other codecs, an opaque state, foreign ids and a replaced one.
	opaque := posthouse.Root("bytes", must(posthouse.Opaque(posthouse.Raw, []byte{0, 1, 2, 0xff})))
	opaque.ID = "foreign:id-1"
	w.save(opaque)
	opaque.State = must(posthouse.Opaque(posthouse.Raw, []byte("replaced")))
	must(w.l.Save(w.ctx, opaque, &posthouse.SaveOptions{Replace: true}))
	large := posthouse.Root("numbers", posthouse.State{"big": {Codec: "json", Data: []byte(`{"id":9007199254740993,"price":0.1,"none":null}`)}})
	w.save(large)

	// Forks: in the thread, changed, to other threads, and of a fork.
	all := w.line("trunk", 12)
	fork := must(w.l.Fork(w.ctx, all[5].ID, nil))
	w.save(fork.Derive(posthouse.State{"n": text("on the fork")}))
	must(w.l.Fork(w.ctx, all[3].ID, &posthouse.ForkOptions{Branch: "patched", Patch: posthouse.State{"n": text("patched")}, By: "mia", Labels: map[string]string{"team": "blue"}}))
	away := must(w.l.Fork(w.ctx, all[7].ID, &posthouse.ForkOptions{Thread: "trunk-away", Replace: posthouse.State{"n": text("away")}}))
	must(w.l.Fork(w.ctx, away.ID, &posthouse.ForkOptions{Thread: "trunk-further", ID: "foreign:fork"}))
	must(w.l.CopyThread(w.ctx, "trunk", "trunk-copy", nil))

	// Signals that nobody waits for, a hold, and a run that did not come back.
	must(w.l.Signal(w.ctx, "trunk", posthouse.Signal{Name: "ping", Value: []byte(`{"n":1}`), By: "bank"}))
	must(w.l.Signal(w.ctx, "trunk", posthouse.Signal{Name: "ping", Value: []byte(`{"n":2}`), By: "bank"}))
	must(w.l.Signal(w.ctx, "trunk", posthouse.Signal{Name: "price", Value: []byte(`3`), Latch: true}))
	w.line("held", 3)
	must(w.l.Hold(w.ctx, "held", posthouse.HoldOptions{By: "law", Reason: "case 7"}))
	claim := must(w.l.Claim(w.ctx, "lost", "run-1"))
	must(w.l.Commit(w.ctx, &posthouse.Draft{Thread: "lost", Claim: claim, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "golden-elsewhere", Next: []string{"work"},
		State: posthouse.State{"n": text("lost")},
	}}))
	must(w.l.Commit(w.ctx, &posthouse.Draft{Thread: "lost", Claim: claim, Steps: []posthouse.Step{
		{Task: "1/work", Name: "llm", Effect: posthouse.EffectRead, Value: text("an answer")},
	}}))
}

// versions leaves released threads.
func (w *writer) versions() {
	for i, tag := range []string{"may", "june", "july"} {
		w.line("report", 4+i)
		must(w.l.Release(w.ctx, "report", &posthouse.ReleaseOptions{Tags: []string{tag, "sent"}, By: "alice", Reason: "the end of " + tag, Failed: i == 1}))
	}
	w.line("report", 2)
	must(w.l.DropRelease(w.ctx, "report", "may", &posthouse.DeleteOptions{By: "law"}))
	june := must(w.l.ReleaseOf(w.ctx, "report", "june"))
	head, _ := june.Head("")
	must(w.l.Fork(w.ctx, head.Head, &posthouse.ForkOptions{Thread: "report-again"}))

	w.line("free", 3) // released, and not begun anew
	must(w.l.Release(w.ctx, "free", nil))

	w.ask("graph-released", "plain order 8") // with an open question
	must(w.refund.Release(w.ctx, "graph-released", &posthouse.ReleaseOptions{Tags: []string{"unanswered"}}))
}

// removals leaves threads of which parts are gone, attested by records.
func (w *writer) removals() {
	gone := &posthouse.DeleteOptions{By: "law", Reason: "asked to forget"}
	all := w.line("shortened", 6)
	must(w.l.Delete(w.ctx, all[5].ID, gone)) // a head: its parent is the head now
	must(w.l.Delete(w.ctx, all[2].ID, &posthouse.DeleteOptions{Mode: posthouse.DeleteOrphan, By: "law"}))
	all = w.line("pruned", 6)
	must(w.l.Delete(w.ctx, all[3].ID, &posthouse.DeleteOptions{Mode: posthouse.DeleteSubtree, By: "law"}))
	w.line("retained", 20)
	must(w.l.Retain(w.ctx, posthouse.Retention{MaxPerThread: 4, Prefix: "retained"}, nil))
	w.line("deleted", 3)
	must(w.l.DeleteThread(w.ctx, "deleted", gone))
	w.line("reborn", 3)
	must(w.l.DeleteThread(w.ctx, "reborn", gone))
	w.line("reborn", 2)

	out := w.ask("graph-shortened", "plain order 9") // the question goes with its checkpoint
	must(w.l.Delete(w.ctx, out.Checkpoint, gone))
	w.ask("graph-deleted", "plain order 9")
	must(w.l.DeleteThread(w.ctx, "graph-deleted", gone))
}
