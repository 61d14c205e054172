package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A cell is a value of the server that can be changed and set back.
type cell struct {
	name  string
	value string
	set   func(value string)
}

// cells returns every value below a prefix, and the members of each list.
func cells(t *testing.T, c rueidis.Client, prefix string) (values []cell, members [][2]string) {
	m := do(t, c, "KEYS", prefix+"*")
	keys, err := m.AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		kind := do(t, c, "TYPE", key)
		switch text, _ := kind.ToString(); text {
		case "string":
			m := do(t, c, "GET", key)
			v, _ := m.ToString()
			values = append(values, cell{key, v, func(v string) { do(t, c, "SET", key, v) }})
		case "hash":
			m := do(t, c, "HGETALL", key)
			fields, _ := m.AsStrMap()
			for f, v := range fields {
				values = append(values, cell{fmt.Sprintf("%s %q", key, f), v, func(v string) { do(t, c, "HSET", key, f, v) }})
			}
		case "zset":
			m := do(t, c, "ZRANGE", key, "0", "-1")
			some, _ := m.AsStrSlice()
			for _, v := range some {
				members = append(members, [2]string{key, v})
			}
		}
	}
	return values, members
}

// TestDamage flips each byte of each value, and takes each member out of each list. It is
// found by who reads everything, or changes nothing of what is read.
func TestDamage(t *testing.T) {
	s, c := open(t, redisstore.Options{}), connect(t, redistest.URL(t))
	b := storetest.NewBuilder()
	for i := range 2 {
		l := b.Log(fmt.Sprint("t", i))
		servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Run: "r", Labels: map[string]string{"a": "b"}}, "state"), l.Step("s", []byte("result")))
		h := l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Coordination: "desk"}, "waits")
		servertest.Take(t, s, l, h, l.Gate(b.GateID(), b.Now().Add(time.Hour)))
	}
	before, err := storetest.Dump(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	prefix := "{" + prefixOf(t.Name()) + "}:"
	values, members := cells(t, c, prefix)
	tally := damage.Begin(t)
	for _, v := range values {
		if strings.HasPrefix(v.name, prefix+"meta") || v.name == prefix+"commit" {
			continue // names the store, and counts: no part of a thread
		}
		step := 1
		if testing.Short() {
			step = damage.Step(7)
		}
		for at := 0; at < len(v.value); at += step {
			changed := []byte(v.value)
			changed[at] ^= 1 << (at % 8)
			v.set(string(changed))
			after, err := storetest.Dump(t.Context(), s)
			switch {
			case err == nil && after != before:
				tally.Served("flipped", "byte %d of %s: served as if nothing had happened", at, v.name)
			case err == nil:
				tally.Same("flipped")
			default:
				tally.Found("flipped")
			}
		}
		v.set(v.value)
	}
	lists := map[string]bool{}
	for _, m := range members {
		score := do(t, c, "ZSCORE", m[0], m[1])
		n, _ := score.AsFloat64()
		do(t, c, "ZREM", m[0], m[1])
		if after, err := storetest.Dump(t.Context(), s); err != nil {
			tally.Found("removed from a list")
		} else {
			tally.Served("removed from a list", "%q is missing from %q, and nobody says so; the same is read: %v", m[1], m[0], after == before)
		}
		do(t, c, "ZADD", m[0], fmt.Sprint(n), m[1])
		lists[strings.TrimPrefix(m[0], prefix)[:1]] = true
	}
	if after, err := storetest.Dump(t.Context(), s); err != nil || after != before {
		t.Errorf("set back: %v", err)
	}
	kinds := []string{}
	for k := range lists {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	t.Logf("%d members of lists removed: %q", len(members), kinds)
}
