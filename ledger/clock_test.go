package ledger_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A wallClock is the clock of a process when its host's clock is set: the time of day jumps,
// and the monotonic reading goes on. It is safe for concurrent use.
type wallClock struct {
	offset atomic.Int64 // seconds
	plain  bool         // there is no monotonic reading: the control arm
}

func (c *wallClock) set(d time.Duration) { c.offset.Store(int64(d / time.Second)) }

// now writes the two words of a [time.Time], since no function of package time moves the time
// of day without the monotonic reading, and times in a bubble of synctest have no reading. The
// first word says that there is one and has the time of day, in seconds since 1885 and
// nanoseconds; the second is the monotonic reading.
func (c *wallClock) now() time.Time {
	now := time.Now()
	day := now.Round(0).Add(time.Duration(c.offset.Load()) * time.Second)
	if c.plain {
		return day
	}
	from1885 := day.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	t := now
	words := (*[2]uint64)(unsafe.Pointer(&t))
	words[0] = 1<<63 | uint64(from1885)<<30 | uint64(day.Nanosecond())
	words[1] = uint64(now.Unix()*int64(time.Second) + int64(now.Nanosecond()))
	return t
}

// TestWallClock checks that the clock of these tests is what it says.
func TestWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &wallClock{}
		begun, first := time.Now(), c.now()
		if !first.Round(0).Equal(begun) {
			t.Errorf("it is %v, and the clock says %v", begun, first)
		}
		for _, jump := range []time.Duration{-time.Hour, 0, time.Hour} {
			before := c.now()
			c.set(jump)
			<-time.After(time.Second)
			after := c.now()
			if moved := after.Round(0).Sub(begun); moved != jump+time.Since(begun) {
				t.Errorf("the time of day moved by %v, want %v", moved, jump+time.Since(begun))
			}
			if passed := after.Sub(before); passed != time.Second {
				t.Errorf("after a jump to %v, %v passed in a second", jump, passed)
			}
		}
	})
}

// TestLeasesStandJumpsOfTheClock has the time of day of the owner, or of the process that
// wants its thread, jump by an hour again and again. No other process takes the thread, and
// once its owner is gone it is free in the usual time. In the control arm the clock has no
// monotonic reading, and the thread is taken from a living owner.
func TestLeasesStandJumpsOfTheClock(t *testing.T) {
	jumps := []time.Duration{time.Hour, 0, -time.Hour, time.Hour, -time.Hour, 0}
	for _, tc := range []struct {
		name   string
		owner  bool // the owner's clock jumps
		plain  bool
		stolen bool
	}{
		{"of the owner", true, false, false},
		{"of who claims", false, false, false},
		{"of who claims, without a monotonic reading", false, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &wallClock{plain: tc.plain}
				owner, claims := clock.now, time.Now
				if !tc.owner {
					owner, claims = time.Now, clock.now
				}
				store := memstore.New()
				a := must.Get(ledger.Open(store, &ledger.Options{Owner: "a", Now: owner}))(t)
				b := must.Get(ledger.Open(store, &ledger.Options{Owner: "b", Now: claims}))(t)
				defer b.Close()
				claim := must.Get(a.Claim(t.Context(), "t", "r"))(t)
				commit := func() {
					t.Helper()
					must.Get(a.Commit(t.Context(), &ledger.Draft{
						Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}},
					}))(t)
				}
				commit()
				look := func() bool {
					_, err := b.Claim(t.Context(), "t", "r2")
					return err == nil
				}
				stolen := false
				<-time.After(100 * time.Millisecond) // renewals and looks do not meet
				for _, jump := range jumps {
					for _, wait := range []time.Duration{0, 200 * time.Millisecond, 7 * time.Second} {
						_, before := taken(t, b, 2*time.Second)
						seen := look()
						clock.set(jump) // between a renewal and the next
						at := look()
						<-time.After(wait)
						_, after := taken(t, b, 2*time.Second)
						stolen = stolen || before || seen || at || after
						if stolen {
							break
						}
						if err := claim.Confirm(t.Context()); err != nil {
							t.Errorf("the owner, after a jump to %v: %v", jump, err)
						}
						commit()
						clock.set(0)
					}
				}
				if stolen != tc.stolen {
					t.Errorf("the thread was taken from its owner: %v, want %v", stolen, tc.stolen)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				if stolen {
					return // b has it
				}
				clock.set(-time.Hour)
				if after, ok := taken(t, b, time.Minute); !ok || after > 4*time.Second {
					t.Errorf("the thread of a process that is gone is free after %v: %v", after, ok)
				}
			})
		})
	}
}
