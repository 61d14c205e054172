package limit

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// TestQuotaHasShares: a token has its share, all together have the places, and a place that was
// given back is free.
func TestQuotaHasShares(t *testing.T) {
	life := NewLifetime()
	q := NewQuota(life, Bounds{All: 3, Token: 2, Noun: "streams", Held: "streams open"})
	take := func(name, refusal string) (leave func()) {
		t.Helper()
		leave, err := q.Take(name)
		if refusal == "" {
			if err != nil {
				t.Fatalf("a place for %s: %v", name, err)
			}
			return leave
		}
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != problem.CodeTooMany || !strings.Contains(e.Message, refusal) {
			t.Errorf("a place for %s: %v, want a refusal with %q", name, err, refusal)
		}
		return nil
	}
	first := take("a", "")
	take("a", "")
	take("a", "the token a has 2 streams open")
	take("b", "")
	take("b", "too many streams at once")
	take("c", "too many streams at once")
	first()
	last := take("c", "")
	take("a", "too many streams at once")
	last()
	take("a", "")
}

// TestUnauthenticatedLoseTheOldestPlace: a new connection gets the place of the one that has
// waited longest.
func TestUnauthenticatedLoseTheOldestPlace(t *testing.T) {
	u := NewUnauthenticated(NewLifetime(), 2)
	var lost []string
	take := func(name string) (leave func()) {
		t.Helper()
		leave, end, err := u.Take(func() { lost = append(lost, name) })
		if err != nil {
			t.Fatalf("a place for %s: %v", name, err)
		}
		t.Cleanup(end)
		return leave
	}
	first := take("first")
	second := take("second")
	take("third")
	if got := strings.Join(lost, " "); got != "first" || u.Len() != 2 {
		t.Errorf("lost: %q, and %d places are taken; want the first, and 2", got, u.Len())
	}
	first() // it has no room any more
	second()
	if u.Len() != 1 {
		t.Errorf("%d places are taken, want 1", u.Len())
	}
	take("fourth")
	if got := strings.Join(lost, " "); got != "first" {
		t.Errorf("lost: %q, want the first alone", got)
	}
}
