package limit

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/server/problem"
)

// TestHoldWaitsForRoom: a token and an address have their shares, in order, and what is shrunk or released makes room.
func TestHoldWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBodies(BodyBounds{Token: 10, Address: 15, Anonymous: 80})
		hold := func(token, address string, size int64) (*Hold, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.Hold(ctx, token, address, size)
		}
		want := func(token, address string, size int64, room bool) *Hold {
			t.Helper()
			h, err := hold(token, address, size)
			if room != (err == nil) {
				t.Fatalf("%d bytes of %s at %q: %v", size, token, address, err)
			}
			if err != nil && problem.Client(err).Code != problem.CodeTooMany {
				t.Errorf("the refusal is %v", err)
			}
			return h
		}
		a := want("a", "x", 8, true)
		want("a", "x", 3, false)
		c := want("c", "x", 7, true)
		want("d", "x", 1, false)
		want("d", "", 9, true)
		a.Shrink(2)
		want("a", "x", 6, true)
		a.Release()
		a.Release()
		c.Release()
		big := want("e", "", 100, true) // more than a share, alone
		want("e", "", 1, false)
		waited := make(chan error)
		go func() { _, err := hold("e", "", 1); waited <- err }()
		synctest.Wait()
		big.Release()
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

// TestAnonymousBodiesGiveUpTheOldest: of an address with too much its oldest goes; of all, one of the address that has most.
func TestAnonymousBodiesGiveUpTheOldest(t *testing.T) {
	b := NewBodies(BodyBounds{Anonymous: 80}) // 10 of each address
	var gone []string
	open := func(name, address string) (io.Reader, func()) {
		r, end := b.Anonymous(address, strings.NewReader(strings.Repeat("x", 30)), func() { gone = append(gone, name) })
		t.Cleanup(end)
		return r, end
	}
	read := func(r io.Reader, n int) error { _, err := io.ReadFull(r, make([]byte, n)); return err }
	first, _ := open("first", "x")
	second, _ := open("second", "x")
	none, _ := open("none", "x")
	for _, r := range []io.Reader{first, second} {
		if err := read(r, 6); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(gone, " ") != "first" {
		t.Errorf("given up: %v, want the first", gone)
	}
	if err := read(first, 1); problem.Client(err).Code != problem.CodeTooMany {
		t.Errorf("what was given up can be read: %v", err)
	}
	_ = none
	local, end := open("local", "") // without a bound of its own
	if err := read(local, 30); err != nil {
		t.Fatal(err)
	}
	end()
	if len(gone) != 1 {
		t.Errorf("given up: %v", gone)
	}
}
