package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

// small makes a small store of all kinds of objects but manifests.
func small(t testing.TB, server *s3test.Server) {
	s, builder := open(t, server, s3store.Options{}), storetest.NewBuilder()
	l, m := builder.Log("a"), builder.Log("b")
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "one"), l.Step("s", []byte("result")))
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Labels: map[string]string{"k": "v"}}, "two"))
	b := m.Next(m.Checkpoint(posthouse.Header{}, "three"))
	m.Took(b)
	if err := s.AppendAll(t.Context(), []*posthouse.Batch{b, m.Next(m.Checkpoint(posthouse.Header{}, "four"))}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"x", "y"} {
		if _, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "a", Step: step}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(step)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", Bodies: []posthouse.BodyRef{{Seq: 1}}}); err != nil {
		t.Fatal(err)
	}
}

// content opens the store in a bucket and reads all there is, or fails.
func content(t testing.TB, server *s3test.Server, bucket string) (string, error) {
	ctx := context.Background()
	s, err := s3store.Open(ctx, server.URL(bucket, prefix), options(s3store.Options{ReadOnly: true}))
	if err != nil {
		return "", err
	}
	defer s.Close()
	var b strings.Builder
	for info, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return "", err
		}
		sum, _ := info.MarshalBinary()
		fmt.Fprintf(&b, "%q %x\n", info.Thread, sum)
		for e, err := range s.Read(ctx, info.Thread, posthouse.Range{}) {
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%d %x %x %x %q\n", e.Seq, e.Hash, e.Header, e.Sig, e.Bodies)
		}
	}
	for h, err := range s.List(ctx, posthouse.Query{}) {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%+v\n", h)
	}
	for item, err := range s.Slots(ctx, "") {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%+v\n", item)
	}
	for err := range s.Check(ctx) {
		return "", err
	}
	return b.String(), nil
}

// A damager counts what becomes of damage in the copy of a store.
type damager struct {
	testing.TB
	server *s3test.Server
	whole  string // what the store has
	tally  *damage.Tally
}

// try wants damage to be found, or to change nothing where that may be.
func (d *damager) try(kind, what string, mayBeSame bool) {
	d.Helper()
	got, err := content(d.TB, d.server, "copy")
	switch {
	case err == nil && got != d.whole:
		d.tally.Served(kind, "%s %s is served: %s", what, kind, got)
		return
	case err == nil:
		d.tally.Same(kind)
		if !mayBeSame {
			d.Errorf("%s %s is not found", what, kind)
		}
		return
	case !errors.Is(err, posthouse.ErrCorrupt) && !strings.Contains(what, "posthouse.json"):
		d.Errorf("%s: %v", what, err)
	}
	d.tally.Found(kind)
}

// TestDamagedObjects flips bytes of each object, and cuts it off: it is found, in the log
// and in slots without exception.
func TestDamagedObjects(t *testing.T) {
	server := s3test.New(t)
	small(t, server)
	whole, err := content(t, server, bucket)
	if err != nil {
		t.Fatal(err)
	}
	server.Copy(bucket, "copy")
	d := &damager{t, server, whole, damage.Begin(t)}
	flips, cuts := 1, damage.Step(16)
	if testing.Short() {
		flips = damage.Step(4)
	}
	for _, key := range server.Keys(bucket, "") {
		data := server.Get(bucket, key)
		for at := 0; at < len(data); at += flips {
			spoiled := bytes.Clone(data)
			spoiled[at] ^= 4
			server.Set("copy", key, spoiled)
			d.try("flipped", fmt.Sprintf("%s at byte %d", key, at), strings.Contains(key, "json"))
		}
		for at := 0; at < len(data); at += cuts {
			server.Set("copy", key, data[:at])
			d.try("cut off", fmt.Sprintf("%s at byte %d", key, at), false)
		}
		server.Set("copy", key, data)
	}
}

// TestMisplacedObjects swaps objects, deletes them and puts others in their places.
func TestMisplacedObjects(t *testing.T) {
	server := s3test.New(t)
	small(t, server)
	whole, err := content(t, server, bucket)
	if err != nil {
		t.Fatal(err)
	}
	other := s3test.New(t)
	small(t, other)
	d := &damager{t, server, whole, damage.Begin(t)}
	logs, slots := server.Keys(bucket, prefix+"log/"), server.Keys(bucket, prefix+"slots/")
	for _, keys := range [][]string{logs, slots} {
		for i, one := range keys {
			for _, two := range keys[:i] {
				server.Copy(bucket, "copy")
				server.Set("copy", one, server.Get(bucket, two))
				server.Set("copy", two, server.Get(bucket, one))
				d.try("swapped", one+" and "+two, false)
			}
		}
	}
	for i, key := range logs {
		server.Copy(bucket, "copy")
		server.Set("copy", key, nil)
		d.try("removed", key, i == len(logs)-1)
		server.Copy(bucket, "copy")
		server.Set("copy", key, other.Get(bucket, key))
		d.try("of another store", key, i == len(logs)-1)
	}
}

// TestRemovedBodyThatComesBack puts an object back as it was before a removal. The
// removed body is not served.
func TestRemovedBodyThatComesBack(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "secret"), l.Step("s", []byte("kept")))
	key := server.Keys(bucket, prefix+"log/")[0]
	before := server.Get(bucket, key)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", Bodies: []posthouse.BodyRef{{Seq: 1}}}); err != nil {
		t.Fatal(err)
	}
	server.Set(bucket, key, before)
	es, err := read(t, open(t, server, s3store.Options{}), "a")
	if err != nil || len(es) != 1 || es[0].Bodies[0] != nil || string(es[0].Bodies[1]) != "kept" {
		t.Errorf("%+v, %v", es, err)
	}
}

// TestHeldCommit damages an object under an open store: what it has at hand is served,
// what it must read is not.
func TestHeldCommit(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "one"))
	beside := open(t, server, s3store.Options{})
	key := server.Keys(bucket, prefix+"log/")[0]
	data := server.Get(bucket, key)
	at := bytes.LastIndex(data, []byte("one"))
	server.Set(bucket, key, slices.Concat(data[:at], []byte("two"), data[at+3:]))
	if es, err := read(t, s, "a"); err != nil || string(es[0].Bodies[0]) != "one" {
		t.Errorf("%+v, %v", es, err)
	}
	for _, s := range []*s3store.Store{s, beside} {
		found := false
		for err := range s.Check(t.Context()) {
			found = found || errors.Is(err, posthouse.ErrCorrupt)
		}
		if !found {
			t.Error("Check found nothing")
		}
	}
	if es, err := read(t, open(t, server, s3store.Options{}), "a"); !errors.Is(err, posthouse.ErrCorrupt) || len(es) > 0 {
		t.Errorf("%+v, %v", es, err)
	}
}
