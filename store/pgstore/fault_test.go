package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestKilledConnections ends the connections of a store under load, again and again. No
// caller notices, and nothing is lost or written twice.
func TestKilledConnections(t *testing.T) {
	const kills = 30
	url := pgtest.URL(t)
	name := "killed"
	s := openAt(t, url+"&application_name="+name, pgstore.Options{MaxConns: 4})
	c := connect(t, url)
	counts := servertest.Interrupt(t, s, 6, 10, kills, func() {
		const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
		if _, err := c.Exec(t.Context(), kill, name); err != nil {
			t.Errorf("kill: %v", err)
		}
	})
	servertest.WantWritten(t, s, counts)
}

// TestRestartedServer crashes the server under load. Acknowledged writes are there when
// it is back, and the same store goes on.
func TestRestartedServer(t *testing.T) {
	const crashes = 3
	server := pgtest.Start(t)
	s := openAt(t, server.URL(), pgstore.Options{})
	counts := servertest.Interrupt(t, s, 4, 50, crashes, func() {
		server.Kill()
		server.Restart(t)
	})
	servertest.WantWritten(t, s, counts)

	// A watch that was open goes on, and so does one that begins while the server is away.
	server.Kill()
	var seen atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wg.Go(func() {
		for _, err := range s.Watch(ctx, "") {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("Watch: %v", err)
				}
				return
			}
			if seen.Add(1); int(seen.Load()) == sum(counts) {
				cancel()
			}
		}
	})
	server.Restart(t)
	wg.Wait()
	if int(seen.Load()) != sum(counts) {
		t.Errorf("saw %d entries, want %d", seen.Load(), sum(counts))
	}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestServerThatIsGone asks a store while its server is away, and again when it is back. The
// store does not wait for long, so that a loaded server, too, may be away for it at first.
func TestServerThatIsGone(t *testing.T) {
	server := pgtest.Start(t)
	l := storetest.NewBuilder().Log("t")
	servertest.Take(t, openAt(t, server.URL(), pgstore.Options{}), l, l.Step("s", []byte("x")))
	var s *pgstore.Store
	for s == nil {
		var err error
		s, err = pgstore.Open(t.Context(), server.URL(), &pgstore.Options{Schema: schemaOf(t.Name()), Timeout: 200 * time.Millisecond})
		if err != nil && !errors.Is(err, posthouse.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { must.Do(t, s.Close()) })
	server.Kill()
	next := l.Next(l.Step("s", []byte("y")))
	servertest.Gone(t, s, next)
	if s, err := pgstore.Open(t.Context(), server.URL(), nil); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("Open: %v", err)
	}
	server.Restart(t)
	servertest.Back(t, s, next)
	servertest.WantSound(t, s, "t", 2)
}

// TestRefusedInAGroup appends what must be refused together with what must not: each gets
// its own answer.
func TestRefusedInAGroup(t *testing.T) {
	const rounds, callers = 10, 12
	s, other := open(t, pgstore.Options{}), open(t, pgstore.Options{})
	b := storetest.NewBuilder()
	for round := range rounds {
		id := posthouse.ID(fmt.Sprint("taken-", round))
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range callers {
			store := s
			if i%2 == 1 {
				store = other
			}
			h := posthouse.Header{}
			if i%3 == 0 {
				h.ID = id
			}
			wg.Go(func() {
				l := b.Log(fmt.Sprintf("r%d-t%d", round, i))
				batch := l.Next(l.Checkpoint(h, "state"))
				<-begin
				switch err := store.Append(t.Context(), batch); {
				case err == nil && i%3 == 0:
					won.Add(1)
				case errors.Is(err, posthouse.ErrExists) && i%3 == 0:
					lost.Add(1)
					if es := servertest.Entries(t, s, l.Info.Thread); len(es) > 0 {
						t.Errorf("a refused append left %d entries", len(es))
					}
				case err != nil:
					t.Errorf("Append: %v", err)
				}
			})
		}
		close(begin)
		wg.Wait()
		if won.Load() != 1 || lost.Load() != callers/3-1 {
			t.Errorf("round %d: %d appends got the id, %d were refused", round, won.Load(), lost.Load())
		}
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}

// TestServerErrors has a trigger fail appends as the server does, and looks at what the
// store makes of that.
func TestServerErrors(t *testing.T) {
	for code, want := range map[string]struct {
		times int
		err   error // of the first append
		then  error // of the next one
	}{
		"40001": {2, nil, nil},
		"40P01": {2, nil, nil},
		"25006": {2, nil, nil}, // a failover
		"57P01": {2, nil, nil},
		"53100": {1, posthouse.ErrFull, nil},
		"42501": {1, posthouse.ErrForbidden, nil},
		"42P01": {1, posthouse.ErrReadOnly, nil},
		"XX001": {1, posthouse.ErrCorrupt, posthouse.ErrReadOnly},
		"XX002": {1, posthouse.ErrCorrupt, posthouse.ErrReadOnly},
	} {
		t.Run(code, func(t *testing.T) {
			s := open(t, pgstore.Options{})
			c := connect(t, pgtest.URL(t))
			run(t, c, "CREATE SEQUENCE posthouse.tries")
			run(t, c, fmt.Sprintf(`CREATE FUNCTION posthouse.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('posthouse.tries') <= %d THEN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END IF; RETURN NEW; END $$`, want.times, code))
			run(t, c, "CREATE TRIGGER fails BEFORE INSERT ON posthouse.entries FOR EACH ROW EXECUTE FUNCTION posthouse.fail()")
			l := storetest.NewBuilder().Log("t")
			batch := l.Next(l.Checkpoint(posthouse.Header{}, "x"))
			if err := s.Append(t.Context(), batch); !errors.Is(err, want.err) {
				t.Errorf("the first append: got %v, want %v", err, want.err)
			}
			if err := s.Append(t.Context(), batch); !errors.Is(err, want.then) {
				t.Errorf("the next append: got %v, want %v", err, want.then)
			}
			again := open(t, pgstore.Options{})
			if err := again.Append(t.Context(), batch); err != nil {
				t.Errorf("after it was opened again: %v", err)
			}
			servertest.WantSound(t, again, "t", 1)
		})
	}
}

// TestDamage changes rows without the store: it serves nothing wrong, and its check finds
// each change.
func TestDamage(t *testing.T) {
	for name, d := range map[string]struct {
		sql  string
		list error // of List
	}{
		"a summary":          {"UPDATE posthouse.threads SET state = set_byte(state, 40, 7 # get_byte(state, 40))", nil},
		"a header":           {"UPDATE posthouse.entries SET header = set_byte(header, 20, 7 # get_byte(header, 20)) WHERE seq = 2", posthouse.ErrCorrupt},
		"a hash":             {"UPDATE posthouse.entries SET hash = set_byte(hash, 0, 7 # get_byte(hash, 0)) WHERE seq = 2", posthouse.ErrCorrupt},
		"a lost entry":       {"DELETE FROM posthouse.entries WHERE seq = 2", posthouse.ErrCorrupt},
		"a lost tail":        {"DELETE FROM posthouse.entries WHERE seq = 4", posthouse.ErrCorrupt},
		"a lost id":          {"DELETE FROM posthouse.ids WHERE seq = 2", nil},
		"a wrong place":      {"UPDATE posthouse.ids SET seq = 1 WHERE seq = 2", posthouse.ErrCorrupt},
		"a lost term":        {"UPDATE posthouse.ids SET terms = terms[2:] WHERE seq = 2", nil},
		"a lost gate":        {"DELETE FROM posthouse.gates", nil},
		"a gate too many":    {"INSERT INTO posthouse.gates SELECT list, thread, 'x' FROM posthouse.gates LIMIT 1", nil},
		"a thread not live":  {"UPDATE posthouse.threads SET live = NOT live", nil},
		"a thread's minute":  {"UPDATE posthouse.threads SET minute = minute - 60000", nil},
		"a thread with work": {"UPDATE posthouse.threads SET due = 7", nil},
		"entries of nobody":  {"INSERT INTO posthouse.entries SELECT 99, seq, watch, generation, kept, prev, hash, sig, header, gone, bodies FROM posthouse.entries WHERE seq = 1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, pgstore.Options{})
			b := storetest.NewBuilder()
			l := b.Log("t")
			for range 3 {
				servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Run: "r"}, "state"))
			}
			servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "asks"), l.Gate(b.GateID(), b.Now()))
			servertest.WantSound(t, s, "t", 4)
			if run(t, connect(t, pgtest.URL(t)), d.sql) == 0 {
				t.Fatal("nothing was damaged")
			}
			found := 0
			for range s.Check(t.Context()) {
				found++
			}
			if found == 0 {
				t.Error("Check finds nothing")
			}
			var err error
			for _, err = range s.List(t.Context(), posthouse.Query{}) {
			}
			if !errors.Is(err, d.list) {
				t.Errorf("List: got %v, want %v", err, d.list)
			}
			for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
				if err == nil && info.Thread != "t" || err != nil && d.list == nil {
					t.Errorf("Threads: %v, %v", info, err)
				}
			}
		})
	}
}
