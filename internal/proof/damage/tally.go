package damage

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Whole is the environment variable that makes tests try every byte. Its value is "all".
const Whole = "POSTHOUSE_DAMAGE"

// Part is the environment variable that names the part of a test's changes that are tried,
// such as 2/10 for the third of ten.
const Part = "POSTHOUSE_DAMAGE_PART"

// Mine reports whether the n-th change, from 0, is in the part to be tried.
func Mine(n int) bool {
	var part, parts int
	if _, err := fmt.Sscanf(os.Getenv(Part), "%d/%d", &part, &parts); err != nil || parts < 1 {
		return true
	}
	return n%parts == part
}

// Step is how far apart the places are that a test tries: 1 where all are asked for, else
// sample.
func Step(sample int) int {
	if os.Getenv(Whole) == "all" {
		return 1
	}
	return sample
}

// A Sum says what became of changes of one kind.
type Sum struct {
	Tried  int `json:"tried"`
	Found  int `json:"found"`           // when the store was opened, read or checked
	Same   int `json:"same"`            // all is read as before
	Short  int `json:"short,omitempty"` // a list lacks something, which only the check of the store tells
	Older  int `json:"older,omitempty"` // the last writes are missing, which only a witness tells
	Served int `json:"served"`          // a read returns something else without an error: never
}

func (s *Sum) add(o Sum) {
	s.Tried += o.Tried
	s.Found += o.Found
	s.Same += o.Same
	s.Short += o.Short
	s.Older += o.Older
	s.Served += o.Served
}

// A TB is what a [Tally] needs of a test.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Cleanup(func())
}

// A Tally counts for one test. Its methods may be called at once.
type Tally struct {
	t     TB
	mu    sync.Mutex
	kinds map[string]*Sum
	tried int
}

// A report is how a test tells the command its tally, after [said].
type report struct {
	Test  string         `json:"test"`
	Kinds map[string]Sum `json:"kinds"`
}

const (
	said     = "damage: " // begins what tests tell
	progress = 1000       // changes until a test tells again how far it is
)

// Begin returns a tally that is told when the test ends.
func Begin(t TB) *Tally {
	c := &Tally{t: t, kinds: map[string]*Sum{}}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		r := report{Test: t.Name(), Kinds: map[string]Sum{}}
		for kind, s := range c.kinds {
			r.Kinds[kind] = *s
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Errorf("%v", err)
		}
		t.Logf("%s%s", said, text)
	})
	return c
}

func (c *Tally) note(kind string, one Sum) {
	c.t.Helper()
	one.Tried = 1
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds[kind] == nil {
		c.kinds[kind] = &Sum{}
	}
	c.kinds[kind].add(one)
	if c.tried++; c.tried%progress == 0 {
		c.t.Logf("%s%s: %d changes tried", said, c.t.Name(), c.tried)
	}
}

// Found counts a change that the store told of.
func (c *Tally) Found(kind string) { c.t.Helper(); c.note(kind, Sum{Found: 1}) }

// Same counts a change after which all is read as before.
func (c *Tally) Same(kind string) { c.t.Helper(); c.note(kind, Sum{Same: 1}) }

// Short counts a change after which a list lacks something, as the check of the store tells.
func (c *Tally) Short(kind string) { c.t.Helper(); c.note(kind, Sum{Short: 1}) }

// Older counts a change after which the last writes are missing, as only a witness tells.
func (c *Tally) Older(kind string) { c.t.Helper(); c.note(kind, Sum{Older: 1}) }

// Served counts a change after which something else is read, and fails the test.
func (c *Tally) Served(kind, format string, args ...any) {
	c.t.Helper()
	c.note(kind, Sum{Served: 1})
	c.t.Errorf(format, args...)
}

// Of returns the sum of a kind so far.
func (c *Tally) Of(kind string) Sum {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.kinds[kind]; s != nil {
		return *s
	}
	return Sum{}
}
