package scratch

import (
	"strings"
	"testing"
)

// TestScratch: a namespace is beside what the address names, never in it.
func TestScratch(t *testing.T) {
	for url, want := range map[string]string{
		"memory:":                     "memory:",
		"file:/data/log":              "file:/data/*",
		"file:/data/log/":             "file:/data/*",
		"file:log":                    "file:*",
		"sqlite:/data/x.db":           "sqlite:/data/*/posthouse.db",
		"postgres://u:p@h/db?x=1":     "postgres://u:p@h/db?schema=*&x=1",
		"postgres:///db?schema=desk":  "postgres:///db?schema=*",
		"redis://h:1/2?prefix=desk":   "redis://h:1/2?prefix=*",
		"nats:/data/nats?prefix=desk": "nats:/data/*",
		"nats://h:1?prefix=desk":      "nats://h:1?prefix=*",
		"nats:/data/desk":             "nats:/data/*",
		"nats:///data/desk?prefix=x":  "nats:/data/*",
		"s3://bucket/desk?region=eu":  "s3://bucket/desk/*?region=eu",
		" Rediss://h:1":               "rediss://h:1?prefix=*",
		"postgres://a:1,b:2/db":       "postgres://a:1,b:2/db?schema=*",
		"s3://bucket":                 "s3://bucket/*",
		"postgres:///postgres?host=/": "postgres:///postgres?host=%2F&schema=*",
	} {
		at, _, err := (&Server{URL: url}).At("one")
		before, after, _ := strings.Cut(want, "*")
		if err != nil || !strings.HasPrefix(at, before) || !strings.HasSuffix(at, after) || strings.Contains(want, "*") && !strings.Contains(at, "posthouse_check_") {
			t.Errorf("%s: %s, %v, want %s", url, at, err, want)
		}
		again, _, _ := (&Server{URL: url}).At("one")
		other, _, _ := (&Server{URL: url}).At("two")
		if again != at || other == at && strings.Contains(want, "*") {
			t.Errorf("%s: %s, then %s, and for another name %s", url, at, again, other)
		}
	}
}

// TestSecretsOfScratch: an address that is refused is not shown.
func TestSecretsOfScratch(t *testing.T) {
	for _, url := range []string{"postgres:///db?password=secret&x=%zz", "redis://me:secret@h?a=%zz"} {
		if _, _, err := (&Server{URL: url}).At("x"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
