package s3store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

// holders returns the keys of objects that have a text.
func holders(server *s3test.Server, text string) (keys []string) {
	for _, key := range server.Keys(bucket, prefix) {
		if bytes.Contains(server.Get(bucket, key), []byte(text)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestRemovedForGood looks for removed bytes in all objects, manifests too.
func TestRemovedForGood(t *testing.T) {
	server, builder := s3test.New(t), storetest.NewBuilder()
	s := open(t, server, s3store.Options{})
	l, other := builder.Log("a"), builder.Log("other")
	for i := range 200 {
		servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Node: "secret-node"}, fmt.Sprintf("secret-body-%03d.", i)))
	}
	servertest.Take(t, s, other, other.Checkpoint(posthouse.Header{}, "kept"))
	if n := len(holders(server, "secret-node")); n != 200+3 {
		t.Fatalf("%d objects have it, want those of the log and three manifests", n)
	}
	beside := open(t, server, s3store.Options{})
	done, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", Bodies: []posthouse.BodyRef{{Seq: 7}}})
	if err != nil || done.Bodies != 1 || done.Bytes != int64(len("secret-body-006.")) {
		t.Errorf("Remove: %+v, %v", done, err)
	}
	if keys := holders(server, "secret-body-006."); len(keys) > 0 {
		t.Errorf("still in %q", keys)
	}
	for _, s := range []*s3store.Store{s, beside, open(t, server, s3store.Options{})} {
		es, err := read(t, s, "a")
		if err != nil || len(es) != 200 || es[6].Bodies[0] != nil || string(es[7].Bodies[0]) != "secret-body-007." {
			t.Fatalf("%d entries, %v", len(es), err)
		}
	}
	done, err = s.Remove(t.Context(), posthouse.Removal{Thread: "a", Below: 150})
	if err != nil || done.Entries != 149 || done.Bodies != 148 {
		t.Errorf("Remove: %+v, %v", done, err)
	}
	if keys := holders(server, "secret-body-1"); len(keys) != 51 {
		t.Errorf("%d bodies stay, want 51", len(keys))
	}
	for _, s := range []*s3store.Store{s, beside, open(t, server, s3store.Options{})} {
		if es, err := read(t, s, "a"); err != nil || len(es) != 51 {
			t.Errorf("%d entries, %v", len(es), err)
		}
		servertest.WantChecked(t, s)
	}
	_, err = beside.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true})
	if err != nil {
		t.Error(err)
	}
	if keys := holders(server, "secret"); len(keys) > 0 {
		t.Errorf("still in %q", keys)
	}
	for _, s := range []*s3store.Store{s, beside, open(t, server, s3store.Options{})} {
		servertest.WantSound(t, s, "other", 1)
		if es, err := read(t, s, "a"); err != nil || len(es) > 0 {
			t.Errorf("%d entries, %v", len(es), err)
		}
	}
}

// TestRemovedFromTheMiddle removes an entry that took an id away from an older one, which
// stays. The id must not lead to the older one again when the log is read again.
func TestRemovedFromTheMiddle(t *testing.T) {
	server, builder := s3test.New(t), storetest.NewBuilder()
	s, l := open(t, server, s3store.Options{}), builder.Log("a")
	first := l.Checkpoint(posthouse.Header{}, "first")
	servertest.Take(t, s, l, first)
	id := first.Index[0].ID
	servertest.Take(t, s, l, l.Removal(id)) // drops it
	servertest.Take(t, s, l)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", From: 2, Below: 3}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*s3store.Store{s, open(t, server, s3store.Options{})} {
		if ref, err := s.Find(t.Context(), id); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("it leads to %v, %v", ref, err)
		}
		if es, err := read(t, s, "a"); err != nil || len(es) != 2 {
			t.Errorf("%d entries, %v", len(es), err)
		}
	}
}

// TestBrokenOffRemoval fails each request of a removal in turn, as if the process died
// there. Asking again finishes it, or opening the store does.
func TestBrokenOffRemoval(t *testing.T) {
	for fails := 1; ; fails++ {
		server, builder := s3test.New(t), storetest.NewBuilder()
		s, l := open(t, server, s3store.Options{Timeout: soon}), builder.Log("a")
		for range 4 {
			servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Node: "secret-node"}, "secret-body"))
		}
		n := 0
		server.SetFault(func(*http.Request) s3test.Fault {
			if n++; n >= fails {
				return s3test.Before
			}
			return s3test.None
		})
		_, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true})
		server.SetFault(nil)
		if err == nil {
			if fails < 10 {
				t.Errorf("a removal is %d requests", fails-1)
			}
			break
		}
		if !errors.Is(err, posthouse.ErrUnknown) {
			t.Errorf("request %d: %v", fails, err)
		}
		again := open(t, server, s3store.Options{})
		if fails%2 == 0 {
			if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true}); err != nil {
				t.Errorf("request %d, asked again: %v", fails, err)
			}
		} else if es, err := read(t, again, "a"); err != nil || len(es) != 0 && len(es) != 4 {
			t.Errorf("request %d: %d entries, %v", fails, len(es), err)
		} else if len(es) == 4 {
			continue // the commit was not made
		}
		if keys := holders(server, "secret"); len(keys) > 0 {
			t.Errorf("request %d: still in %q", fails, keys)
		}
	}
}

// TestTwoRemovers removes bodies of one commit through two stores at once: neither brings
// back what the other took.
func TestTwoRemovers(t *testing.T) {
	server, builder := s3test.New(t), storetest.NewBuilder()
	stores := []*s3store.Store{open(t, server, s3store.Options{}), open(t, server, s3store.Options{})}
	l := builder.Log("a")
	var bs []*posthouse.Batch
	for i := range 16 {
		b := l.Next(l.Checkpoint(posthouse.Header{}, fmt.Sprint("secret-", i)))
		l.Took(b)
		bs = append(bs, b)
	}
	if err := stores[0].AppendAll(t.Context(), bs); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for i := range 16 {
		go func() {
			_, err := stores[i%2].Remove(t.Context(), posthouse.Removal{Thread: "a", Bodies: []posthouse.BodyRef{{Seq: uint64(i + 1)}}})
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if keys := holders(server, "secret"); len(keys) > 0 {
		t.Errorf("still in %q", keys)
	}
	for _, s := range stores {
		servertest.WantSound(t, s, "a", 16)
	}
}

// TestManifests writes more commits than one manifest has: what opens the store reads few
// objects, also if a manifest is damaged or was never written.
func TestManifests(t *testing.T) {
	const commits = 1024 + 3*64 + 10
	server, builder := s3test.New(t), storetest.NewBuilder()
	s, l := open(t, server, s3store.Options{}), builder.Log("a")
	for range commits {
		servertest.Take(t, s, l)
	}
	keys := server.Keys(bucket, prefix+"heads/")
	if len(keys) != 1+3 {
		t.Errorf("manifests %q", keys)
	}
	server.Counts()
	servertest.WantSound(t, open(t, server, s3store.Options{ReadOnly: true}), "a", commits)
	server.Counts()
	open(t, server, s3store.Options{ReadOnly: true})
	if n := server.Counts()["GET"]; n > 40 {
		t.Errorf("opening the store takes %d requests", n)
	}
	whole := server.Get(bucket, keys[1])
	server.Set(bucket, keys[1], slices.Concat(whole[:len(whole)/2], []byte("x"), whole[len(whole)/2+1:]))
	server.Set(bucket, keys[2], nil)
	if es, err := read(t, open(t, server, s3store.Options{ReadOnly: true}), "a"); err != nil || len(es) != commits {
		t.Errorf("%d entries, %v", len(es), err)
	}
	servertest.WantChecked(t, open(t, server, s3store.Options{}))
	if now := server.Keys(bucket, prefix+"heads/"); strings.Join(now, " ") != strings.Join(keys, " ") || !bytes.Equal(server.Get(bucket, keys[1]), whole) {
		t.Errorf("manifests %q, want %q made again", now, keys)
	}
}
