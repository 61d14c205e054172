package sqlitestore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// rotating opens a ledger with two keys, or with one.
func rotating(s posthouse.Store, current string, others ...string) (*ledger.Ledger, error) {
	keys := map[string][]byte{}
	for _, id := range append(others, current) {
		keys[id] = bytes.Repeat([]byte(id), 16)
	}
	ring, err := crypt.NewKeyring(keys, current)
	if err != nil {
		return nil, err
	}
	return ledger.Open(s, &ledger.Options{Cipher: ring})
}

// rewrapForEver is a process that rotates to and fro until it is killed.
func rewrapForEver(ctx context.Context, s *sqlitestore.Store) error {
	fmt.Println("ready")
	for i := 0; ; i++ {
		ids := [2]string{"k1", "k2"}
		l, err := rotating(s, ids[i%2], ids[(i+1)%2])
		if err == nil {
			_, err = crypt.Rewrap(ctx, l)
		}
		if err != nil {
			return err
		}
	}
}

// TestKilledWhileRewrapping kills the rotation at random moments. Everything
// reads with both keys; begun again it comes to its end, and one key is enough.
func TestKilledWhileRewrapping(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	path := filepath.Join(t.TempDir(), "posthouse.db")
	const threads = 40
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	s := open(t, path, nil)
	l, err := rotating(s, "k1")
	must(err)
	for i := range threads {
		_, err := l.Save(t.Context(), posthouse.Root(fmt.Sprint("t", i), posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte{byte(i)}}}), nil)
		must(err)
	}
	must(s.Close())
	reads := func(l *ledger.Ledger) {
		t.Helper()
		for i := range threads {
			c, err := l.Latest(t.Context(), ledger.LatestQuery{Thread: fmt.Sprint("t", i)})
			must(err)
			if got := c.State[posthouse.OpaquePart].Data; len(got) != 1 || got[0] != byte(i) {
				t.Fatalf("seed %d: thread %d holds %v", seed, i, got)
			}
		}
	}
	mixed := 0
	for range rounds(12) {
		killed(t, "rewrap", path, time.Duration(rnd.IntN(80))*time.Millisecond)
		s := open(t, path, nil)
		both, err := rotating(s, "k2", "k1")
		must(err)
		reads(both)
		use, err := crypt.KeyUse(t.Context(), both)
		must(err)
		if use["k1"]+use["k2"] != threads {
			t.Fatalf("seed %d: keys in use: %v", seed, use)
		}
		if len(use) == 2 {
			mixed++
		}
		_, err = crypt.Rewrap(t.Context(), both)
		must(err)
		alone, err := rotating(s, "k2")
		must(err)
		reads(alone)
		noDifference(t, s)
		must(s.Close())
	}
	t.Logf("killed in the middle %d times", mixed)
}
