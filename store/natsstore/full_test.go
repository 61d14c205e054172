package natsstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestFullServer reaches each limit on what a server keeps: of a stream, and of an account.
// A write without room fails as full and writes nothing, reads go on, and writes of the
// same store go on once there is room.
func TestFullServer(t *testing.T) {
	limit := func(stream string) func(*testing.T, *natsServer, bool) {
		return func(t *testing.T, s *natsServer, full bool) {
			js := connect(t, s.ClientURL())
			have, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			config := have.CachedInfo().Config
			config.MaxBytes = -1
			if full {
				config.MaxBytes = max(int64(have.CachedInfo().State.Bytes), 1)
			}
			if _, err := js.UpdateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
		}
	}
	account := func(t *testing.T, s *natsServer, full bool) {
		room := int64(-1)
		if full {
			room = int64(s.GlobalAccount().JetStreamUsage().Store) + 1
		}
		limits := server.JetStreamAccountLimits{MaxMemory: -1, MaxStore: room, MaxStreams: -1, MaxConsumers: -1}
		if err := s.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits}); err != nil {
			t.Fatal(err)
		}
	}
	small, large := []byte("more"), storetest.Filler(100<<10, "more")
	slot := func(t *testing.T, s posthouse.Store) error {
		_, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "a", Step: "new"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: small})
		return err
	}
	for what, c := range map[string]struct {
		set   func(t *testing.T, s *natsServer, full bool)
		value []byte // of what is appended
		slot  bool   // it is written instead
	}{
		"max_bytes of the log":               {limit("posthouse-log"), small, false},
		"max_bytes of large bodies":          {limit("posthouse-aside"), large, false},
		"max_bytes of the slots":             {limit("KV_checkpoints"), nil, true},
		"storage of the account":             {account, small, false},
		"storage of the account, for bodies": {account, large, false},
		"storage of the account, for slots":  {account, nil, true},
	} {
		t.Run(what, func(t *testing.T) {
			srv := startServer(t, t.TempDir())
			s := openAt(t, srv.ClientURL(), nil)
			l := storetest.NewBuilder().Log("a")
			servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
			b := l.Next(l.Step("s", c.value))
			write := func() error { return s.Append(t.Context(), b) }
			if c.slot {
				write = func() error { return slot(t, s) }
			}
			c.set(t, srv, true)
			for range 2 { // it stays full, and the store stays as it is
				if err := write(); !errors.Is(err, posthouse.ErrFull) {
					t.Errorf("a write: %v", err)
				}
			}
			servertest.WantSound(t, s, "a", 1)
			c.set(t, srv, false)
			if err := write(); err != nil {
				t.Errorf("with room: %v", err)
			}
			if !c.slot {
				l.Took(b)
			}
			servertest.Take(t, s, l)
			servertest.WantSound(t, s, "a", int(l.Info.Tail.Seq))
			again := openAt(t, srv.ClientURL(), nil)
			servertest.WantSound(t, again, "a", int(l.Info.Tail.Seq))
		})
	}
}

// TestRemovesFromAFullServer removes a thread to make room, which itself writes a message: it
// needs a little room, and says so.
func TestRemovesFromAFullServer(t *testing.T) {
	srv := startServer(t, t.TempDir())
	s := openAt(t, srv.ClientURL(), nil)
	js, b := connect(t, srv.ClientURL()), storetest.NewBuilder()
	for _, name := range []string{"a", "b"} {
		l := b.Log(name)
		for range 20 {
			servertest.Take(t, s, l, l.Step("s", storetest.Filler(1000, name)))
		}
	}
	room := func(more int64) {
		t.Helper()
		log, err := js.Stream(t.Context(), "posthouse-log")
		if err != nil {
			t.Fatal(err)
		}
		config := log.CachedInfo().Config
		config.MaxBytes = int64(log.CachedInfo().State.Bytes) + more
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	room(0)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true}); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("Remove without any room: %v", err)
	}
	servertest.WantSound(t, s, "a", 20)
	room(1000)
	l := b.Log("c")
	large := l.Next(l.Step("s", storetest.Filler(10000, "c")))
	if err := s.Append(t.Context(), large); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("Append: %v", err)
	}
	if done, err := s.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true}); err != nil || done.Entries != 20 {
		t.Errorf("Remove with a little room: %+v %v", done, err)
	}
	if err := s.Append(t.Context(), large); err != nil {
		t.Errorf("Append in the place of what was removed: %v", err)
	}
	servertest.WantSound(t, s, "b", 20)
	servertest.WantSound(t, s, "c", 1)
}

// TestNewerFormat is refused, whoever opens it, and left as it is.
func TestNewerFormat(t *testing.T) {
	srv := startServer(t, t.TempDir())
	s := openAt(t, srv.ClientURL(), nil)
	servertest.Take(t, s, storetest.NewBuilder().Log("a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	js := connect(t, srv.ClientURL())
	if _, err := js.Publish(t.Context(), "posthouse.witness", natsstore.NewerWitness()); err != nil {
		t.Fatal(err)
	}
	ends := func() (all []uint64) {
		for _, name := range []string{"posthouse-log", "posthouse-aside", "KV_checkpoints", "KV_checkpoints-process"} {
			have, err := js.Stream(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, have.CachedInfo().State.LastSeq, have.CachedInfo().State.Msgs)
		}
		return all
	}
	before := ends()
	for _, o := range []natsstore.Options{{}, {ReadOnly: true}, {AllowWeak: true}} {
		if s, err := natsstore.Open(t.Context(), srv.ClientURL(), &o); !errors.Is(err, posthouse.ErrNewer) || s != nil || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "up to 1") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if after := ends(); !slices.Equal(before, after) {
		t.Errorf("messages of the streams: %d, then %d", before, after)
	}
}
