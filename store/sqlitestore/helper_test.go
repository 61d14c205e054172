package sqlitestore_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A line makes the entries of one thread, as a Ledger would.
type line struct {
	info *posthouse.ThreadInfo
	ids  func() posthouse.ID
	head *posthouse.Header

	dropped posthouse.ID
}

func newLine(name string, ids func() posthouse.ID) *line {
	return &line{info: &posthouse.ThreadInfo{Thread: name}, ids: ids}
}

// idSource makes ascending version 7 UUIDs.
func idSource() func() posthouse.ID {
	var mu sync.Mutex
	n := uint64(time.Now().UnixMilli()) << 16
	rnd := rand.New(rand.NewPCG(1, n))
	return func() posthouse.ID {
		mu.Lock()
		defer mu.Unlock()
		n++
		r := rnd.Uint64()
		return posthouse.ID(fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", n>>32, n>>16&0xffff, n&0xfff, 0x8000|n>>12&0xf, r&0xffffffffffff))
	}
}

func orderOf(id posthouse.ID) (k posthouse.OrderKey) {
	_, _ = hex.Decode(k[:], []byte(strings.ReplaceAll(string(id), "-", "")))
	return k
}

// header is that of a graph's step.
func (l *line) header(size int) *posthouse.Header {
	id := l.ids()
	h := &posthouse.Header{
		ID: id, Order: orderOf(id), Thread: l.info.Thread, Branch: posthouse.MainBranch, Kind: posthouse.KindNode,
		Status: posthouse.StatusRunning, Run: "run-1", Graph: "bench", Node: "work", Next: []string{"work"},
		Step: l.info.Tail.Seq, Size: size,
	}
	if l.head != nil {
		h.Parent, h.ParentSeq = l.head.ID, l.head.Seq
	}
	return h
}

// seal makes the batch of an entry with a checkpoint and more records.
func (l *line) seal(h *posthouse.Header, body []byte, more ...posthouse.Record) *posthouse.Batch {
	after := l.info.Tail
	records := append([]posthouse.Record{{Kind: posthouse.RecordCheckpoint, Checkpoint: h}}, more...)
	bodies := append([][]byte{body}, make([][]byte, len(more))...)
	ids := []posthouse.IndexedID{{ID: h.ID, Order: h.Order, Header: h}}
	for i, r := range more {
		if r.Gate != nil {
			bodies[i+1] = []byte(`{"name":"approve"}`)
			ids = append(ids, posthouse.IndexedID{ID: r.Gate.ID})
		}
	}
	e, info := posthouse.Seal(l.info, time.Now(), records, bodies)
	l.info, l.head = info, h
	return &posthouse.Batch{After: after, Entry: e, IDs: ids, Thread: info}
}

// node is the batch of a graph's step: a checkpoint with a body.
func (l *line) node(body []byte) *posthouse.Batch { return l.seal(l.header(len(body)), body) }

// foreign is the same under an id that is not ours, in a coordination.
func (l *line) foreign(id posthouse.ID, coordination string) *posthouse.Batch {
	h := l.header(9)
	h.ID, h.Coordination = id, coordination
	return l.seal(h, []byte(`"foreign"`))
}

// waiting is the batch of a node that asks.
func (l *line) waiting(gate posthouse.ID) *posthouse.Batch {
	h := l.header(9)
	h.Status = posthouse.StatusWaiting
	return l.seal(h, []byte(`"waiting"`), posthouse.Record{
		Kind: posthouse.RecordGate, Gate: &posthouse.GateInfo{ID: gate, Name: "approve", Branch: posthouse.MainBranch},
	})
}

// words is n bytes of JSON with a message of random words in it.
func words(rnd *rand.Rand, n int) []byte {
	var b strings.Builder
	b.WriteString(`{"role":"user","content":"`)
	for b.Len() < n-2 {
		b.WriteString(word(rnd.IntN(2000)))
		b.WriteByte(' ')
	}
	return []byte(b.String()[:n-2] + `"}`)
}

// word is one of a language that has as many words as there are numbers.
func word(n int) string {
	rnd := rand.New(rand.NewPCG(3, uint64(n)))
	w := make([]byte, 2+rnd.IntN(8))
	for i := range w {
		w[i] = byte('a' + rnd.IntN(26))
	}
	return string(w)
}

func openStore(b testing.TB) *sqlitestore.Store {
	b.Helper()
	s, err := sqlitestore.Open(context.Background(), filepath.Join(b.TempDir(), "posthouse.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// step is the batch of a recorded step result.
func (l *line) step(body []byte) *posthouse.Batch {
	after := l.info.Tail
	e, info := posthouse.Seal(l.info, time.Now(), []posthouse.Record{{
		Kind: posthouse.RecordStep,
		Step: &posthouse.StepInfo{Task: fmt.Sprintf("%d/work", after.Seq), Name: "llm", Branch: posthouse.MainBranch, Codec: "json"},
	}}, [][]byte{body})
	l.info = info
	return &posthouse.Batch{After: after, Entry: e, Thread: info}
}

// fill appends n node steps of size bytes to a thread.
func fill(t testing.TB, s posthouse.Store, l *line, n, size int) (payload int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	for range n {
		body := words(rnd, size)
		payload += len(body)
		if err := s.Append(t.Context(), l.node(body)); err != nil {
			t.Fatal(err)
		}
	}
	return payload
}

// verify fails the test unless every entry of the thread is there, with the
// hashes it was written with, and the store's own check is content.
func verify(t testing.TB, s *sqlitestore.Store, thread string, entries int) {
	t.Helper()
	n := 0
	fold := &posthouse.ThreadInfo{}
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if err := fold.Apply(e); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != entries {
		t.Errorf("thread %q has %d entries, want %d", thread, n, entries)
	}
	noDifference(t, s)
}

func noDifference(t testing.TB, s *sqlitestore.Store) {
	t.Helper()
	for err := range s.Check(t.Context()) {
		t.Errorf("check: %v", err)
	}
}

// fileSize is the size of the database once the write-ahead log is folded in.
func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
