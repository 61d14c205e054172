package s3store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestOpenRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"":                              "s3://bucket/prefix",
		"s3:":                           "s3://bucket/prefix",
		"s3:///prefix":                  "s3://bucket/prefix",
		"http://bucket/prefix":          "s3://bucket/prefix",
		"s3://key:geheim@bucket/prefix": "credentials come from",
		"s3://bucket/?what=ever":        "endpoint, region and insecure",
		"s3://bucket/?insecure=perhaps": "true or false",
		"s3://bucket/" + strings.Repeat("x", 300): "limit",
	} {
		_, err := s3store.Open(t.Context(), url, nil)
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, o := range []s3store.Options{{Poll: -1}, {Timeout: -1}, {Endpoint: "not a host"}} {
		if _, err := s3store.Open(t.Context(), "s3://bucket", &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestNewerFormat opens what a newer version wrote: it is refused with both versions named, and
// no object is written or deleted.
func TestNewerFormat(t *testing.T) {
	server := s3test.New(t)
	s := open(t, server, s3store.Options{})
	servertest.Take(t, s, storetest.NewBuilder().Log("a"))
	server.Set(bucket, prefix+"posthouse.json", []byte(`{"format":2,"life":"x"}`))
	server.Counts()
	for _, o := range []s3store.Options{{}, {ReadOnly: true}} {
		_, err := tryOpen(t, server, bucket, o)
		if !errors.Is(err, posthouse.ErrNewer) || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "up to 1") {
			t.Errorf("ReadOnly %v: %v", o.ReadOnly, err)
		}
	}
	if n := server.Counts(); n["PUT"] != 0 || n["DELETE"] != 0 || n["GET"] == 0 {
		t.Errorf("requests %v", n)
	}
}

func TestReadOnly(t *testing.T) {
	server := s3test.New(t)
	if _, err := tryOpen(t, server, bucket, s3store.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	r := open(t, server, s3store.Options{ReadOnly: true})
	server.Counts()
	servertest.Take(t, s, l)
	servertest.WantSound(t, r, "a", 2)
	b := l.Next()
	_, slot := r.Slot(t.Context(), posthouse.SlotKey{Thread: "a", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut})
	_, removed := r.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true})
	for _, err := range []error{r.Append(t.Context(), b), slot, removed} {
		if !errors.Is(err, posthouse.ErrReadOnly) {
			t.Errorf("%v, want code read-only", err)
		}
	}
	if got := server.Counts(); got["PUT"] != 1 || got["DELETE"] != 0 {
		t.Errorf("requests %v", got)
	}
}

// TestWatchAcrossProcesses watches what another store writes.
func TestWatchAcrossProcesses(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	beside := open(t, server, s3store.Options{Poll: time.Millisecond})
	go func() {
		for range 3 {
			b := l.Next(l.Checkpoint(posthouse.Header{}, "x"))
			if err := s.Append(t.Context(), b); err != nil {
				t.Error(err)
			}
			l.Took(b)
		}
	}()
	seq, cursor := uint64(0), ""
	for range 3 { // one at a time, from the cursor
		for e, err := range beside.Watch(t.Context(), cursor) {
			if err != nil {
				t.Fatal(err)
			}
			if seq++; e.Seq != seq || string(e.Bodies[0]) != "x" {
				t.Errorf("got entry %d, want %d", e.Seq, seq)
			}
			cursor = e.Cursor
			break
		}
	}
}
