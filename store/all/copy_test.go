package all_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// TestCopyThroughAll copies a store from kind to kind. Each copy is stopped after its first
// thread and asked for again. The last store holds the same as the first.
func TestCopyThroughAll(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	dir := t.TempDir()
	urls := []string{
		"file:" + filepath.Join(dir, "log"),
		"sqlite:" + filepath.Join(dir, "x.db"),
		pgtest.URL(t) + "&schema=copied",
		redistest.URL(t) + "?prefix=copied",
		"nats:" + filepath.Join(dir, "nats"),
		s3test.New(t).URL("bucket", "copied"),
		"memory:",
	}
	from := posthouse.Store(memstore.New())
	t.Cleanup(func() { _ = from.Close() })
	write(t, from)
	want := content(t, from)
	for _, url := range urls {
		to, err := all.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = to.Close() })
		copyTwice(t, from, to)
		if got := content(t, to); got != want {
			t.Errorf("%s has\n%s\nwant\n%s", url, got, want)
		}
		from = to
	}
}

const threads = 5

func write(t *testing.T, s posthouse.Store) {
	t.Helper()
	led, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range threads {
		thread := fmt.Sprint("order-", i)
		c := posthouse.Root(thread, nil)
		for n := range 3 {
			state := posthouse.State{"text": {Codec: posthouse.JSON.Name(), Data: fmt.Appendf(nil, `"%d"`, n)}}
			c, err = led.Save(t.Context(), c.Derive(state), nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		key := posthouse.SlotKey{Thread: thread, Step: "s"}
		if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte(thread)}); err != nil {
			t.Fatal(err)
		}
	}
}

// copyTwice stops a copy after its first thread, and asks for it again.
func copyTwice(t *testing.T, from, to posthouse.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := transfer.CopyStore(ctx, from, to, &transfer.CopyStoreOptions{Concurrency: 1, Progress: func(*transfer.StoreCopied) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a copy that was stopped: %v", err)
	}
	done, err := transfer.CopyStore(t.Context(), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.Verified != threads || done.Skipped == 0 || done.Entries == 0 {
		t.Errorf("the second copy did %+v", done)
	}
}

// content returns the logs and slots of a store as text.
func content(t *testing.T, s posthouse.Store) string {
	t.Helper()
	var b strings.Builder
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range s.Read(t.Context(), info.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %d %x %x %q\n", e.Thread, e.Seq, e.Hash, e.Sig, e.Bodies)
		}
		slot, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: info.Thread, Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotGet})
		fmt.Fprintf(&b, "slot %q %v\n", slot.Value, err)
	}
	return b.String()
}
