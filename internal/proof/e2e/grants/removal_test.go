package grants

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// thread returns one of the threads, "" if there is no thread.
func (w *world) thread(rnd *rand.Rand) string {
	all := w.branches()
	if len(all) == 0 {
		return ""
	}
	return anyOf(rnd, all)[0]
}

// release closes a thread's generation. A program that runs in it continues in the next one from the start.
func (w *world) release(rnd *rand.Rand) {
	thread := w.thread(rnd)
	if thread == "" {
		return
	}
	w.ends(thread)
	_, err := w.here.ledger.Release(w.ctx, thread, &ledger.ReleaseOptions{By: anyOf(rnd, people)})
	w.tell("release", err)
}

// remove deletes a checkpoint, or a thread.
func (w *world) remove(rnd *rand.Rand) {
	thread := w.thread(rnd)
	if thread == "" {
		return
	}
	w.ends(thread)
	if rnd.IntN(4) == 0 {
		_, err := retain.DeleteThread(w.ctx, w.here.ledger, thread, &retain.DeleteOptions{By: anyOf(rnd, people)})
		w.tell("delete thread", err)
		return
	}
	var all []posthouse.ID
	for h, err := range w.here.ledger.List(w.ctx, posthouse.Query{Thread: thread}) {
		if err != nil {
			w.tell("list", err)
			return
		}
		all = append(all, h.ID)
	}
	if len(all) == 0 {
		return
	}
	mode := anyOf(rnd, []retain.DeleteMode{retain.DeleteRefuse, retain.DeleteOrphan, retain.DeleteSubtree})
	_, err := retain.Delete(w.ctx, w.here.ledger, anyOf(rnd, all), &retain.DeleteOptions{Mode: mode, By: anyOf(rnd, people)})
	w.tell("delete", err)
}

// move ends the process, writes all threads to files, and imports them into another store, which the next
// process has.
func (w *world) move(*rand.Rand) {
	if !w.shared {
		return // only stores in memory are made while a case runs
	}
	all := w.branches()
	old, next := w.here, memstore.New()
	w.setHere(nil)
	old.stop()
	w.pass(6 * time.Second) // its leases are over
	from, err := ledger.Open(w.below, &ledger.Options{Now: w.now})
	w.must(err)
	to, err := ledger.Open(next, &ledger.Options{Now: w.now})
	w.must(err)
	moved := map[string]bool{}
	for _, at := range all {
		if moved[at[0]] {
			continue
		}
		moved[at[0]] = true
		w.ends(at[0])
		var file bytes.Buffer
		_, err := transfer.Export(w.ctx, from, at[0], &file, nil)
		w.must(err)
		_, err = transfer.Import(w.ctx, to, bytes.NewReader(file.Bytes()), nil)
		if w.tell("import", err); err != nil {
			w.t.Fatalf("thread %s is not imported: %v", at[0], err)
		}
	}
	w.must(errors.Join(from.Close(), to.Close()))
	w.below = next
	w.setHere(w.start())
	w.pass(50 * time.Millisecond)
}

// ends notes that a thread's work may be taken away by people: what its steps computed does not count any
// more, and its approvals may be gone.
func (w *world) ends(thread string) {
	w.takenAway[thread] = true
	at := placeOf(thread, posthouse.MainBranch)
	w.witness.mu.Lock()
	defer w.witness.mu.Unlock()
	w.witness.forgotten[thread] = true
	for key := range w.witness.stands {
		if of := place(key); of == at || strings.HasPrefix(of, at+"~") {
			delete(w.witness.stands, key)
		}
	}
}
