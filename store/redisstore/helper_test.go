package redisstore_test

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/redisstore"
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
