package redisstore_test

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/redistest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// open opens a store with a prefix of the test's own on the shared server.
func open(t testing.TB, o redisstore.Options) *redisstore.Store {
	t.Helper()
	return openAt(t, redistest.URL(t), o)
}

func openAt(t testing.TB, url string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = prefixOf(t.Name())
	}
	s, err := redisstore.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect opens a client beside the store.
func connect(t testing.TB, url string) rueidis.Client {
	t.Helper()
	o, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ForceSingleClient, o.DisableCache = true, true
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do runs one command, of words.
func do(t testing.TB, c rueidis.Client, words ...string) rueidis.RedisMessage {
	t.Helper()
	m, err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%q: %v", words, err)
	}
	return m
}

// take appends one entry and moves the log behind it.
func take(t testing.TB, s posthouse.Store, l *storetest.Log, items ...storetest.Item) *posthouse.Batch {
	t.Helper()
	b := l.Next(items...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.Took(b)
	return b
}

func entries(t testing.TB, s posthouse.Store, thread string) (es []*posthouse.Entry) {
	t.Helper()
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// wantSound wants a log that chains, from its first entry, of n entries, and a store that
// finds nothing wrong with itself.
func wantSound(t testing.TB, s *redisstore.Store, thread string, n int) {
	t.Helper()
	var info posthouse.ThreadInfo
	es := entries(t, s, thread)
	for _, e := range es {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if err := info.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(es) != n {
		t.Errorf("thread %q has %d entries, want %d", thread, len(es), n)
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}
