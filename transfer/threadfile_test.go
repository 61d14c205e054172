package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// forged writes a thread file as somebody without posthouse would.
func forged(t *testing.T, thread string, frames func(*fileWriter)) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	f, err := newFileWriter(&b, thread)
	if err != nil {
		t.Fatal(err)
	}
	frames(f)
	if err := f.writeEnd(&ThreadFile{Slots: 1, Entries: 1}); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// refusedImport imports a file without a look at its signatures, wants it refused, and
// returns the memory that took, in bytes.
func refusedImport(t *testing.T, r *bytes.Reader, want error) uint64 {
	t.Helper()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = led.Close() })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Import(context.Background(), led, r, &ImportOptions{Unverified: true})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, want) {
		t.Errorf("it is imported, or says %v; want %v", err, want)
	}
	for s, err := range led.Store().(posthouse.SlotLister).Slots(context.Background(), posthouse.ProcessThread) {
		t.Errorf("it left slot %v, %v", s, err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// TestImportOfRuntimeThreads brings a forged approval token, a worker's session and more,
// in slots of the runtime's own threads.
func TestImportOfRuntimeThreads(t *testing.T) {
	for _, thread := range []string{"$approvals", "$process", "$requests", "$sessions", "$x"} {
		led, err := ledger.Open(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = led.Close() }()
		from := memstore.New()
		e := entryOf(t, from, "t")
		e.Thread = thread
		e.Hash = e.Sum()
		r := forged(t, thread, func(f *fileWriter) {
			sum := sha256.Sum256([]byte("secret"))
			must.Do(t, f.slot(string(sum[:4]), posthouse.Slot{Value: []byte(`{"for":"ceo"}`)}))
			must.Do(t, f.entry(e))
		})
		_, err = Import(t.Context(), led, r, &ImportOptions{Unverified: true})
		if pe := (*posthouse.Error)(nil); !errors.As(err, &pe) || pe.Code != posthouse.CodeInvalid || pe.Field != "thread" {
			t.Errorf("%s: %v", thread, err)
		}
		for s := range led.Store().(posthouse.SlotLister).Slots(t.Context(), thread) {
			t.Errorf("%s: it left the slot %v", thread, s.Key)
		}
	}
}

// entryOf returns the first entry of a thread that a ledger writes.
func entryOf(t *testing.T, s *memstore.Store, thread string) *posthouse.Entry {
	t.Helper()
	led, err := ledger.Open(s, nil)
	must.Do(t, err)
	defer func() { _ = led.Close() }()
	_, err = led.Save(t.Context(), posthouse.Root(thread, nil), nil)
	must.Do(t, err)
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		must.Do(t, err)
		return e
	}
	t.Fatal("there is no entry")
	return nil
}

// TestImportBombs: a small file does not become much in memory.
func TestImportBombs(t *testing.T) {
	const size = 4 << 20
	e := entryOf(t, memstore.New(), "t")
	entry := func(header []byte, bodies int) []byte {
		b := canon.AppendUint(canon.AppendUint(nil, 1), 1)
		b = append(b, make([]byte, 32)...)
		b = canon.AppendBytes(b, header)
		b = append(b, make([]byte, 32)...)
		b = canon.AppendBytes(b, nil)
		b = canon.AppendUint(b, uint64(bodies))
		return append(b, make([]byte, bodies)...)
	}
	for name, frames := range map[string]func(*fileWriter){
		"bodies of no bytes": func(f *fileWriter) { must.Do(t, f.frame(frameEntry, entry(e.Header, size))) },
		"one body too many":  func(f *fileWriter) { must.Do(t, f.frame(frameEntry, entry(e.Header, posthouse.MaxRecords+1))) },
		"a long header":      func(f *fileWriter) { must.Do(t, f.frame(frameEntry, entry(make([]byte, maxHeader+1), 1))) },
		"many slots": func(f *fileWriter) {
			for i := range maxSlots + 1 {
				must.Do(t, f.slot(string([]byte{'a', byte('a' + i>>16), byte(i >> 8), byte(i)}), posthouse.Slot{}))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := forged(t, "t", frames)
			if took := refusedImport(t, r, posthouse.ErrCorrupt); took > 100<<20 { // 72 MB under the race detector
				t.Errorf("%d bytes of a file took %d MB", r.Size(), took>>20)
			}
		})
	}
}
