package address

import (
	"strings"
	"testing"
)

// TestRedacted: no way of writing a secret into an address is shown.
func TestRedacted(t *testing.T) {
	for _, a := range []string{
		"redis://me:secret@h:1", "redis://:secret@h:1/0", "postgres:///db?password=secret&x=1", "postgres:///db?sslPassword=secret", "postgres:///db?x=1;password=secret",
		"postgres:///db?pass%77ord=secret", "postgres:///db?pass%zz=secret", "postgres://me:secret@h:bad/db", "redis://me:secret%zz@h", "postgres://me:secret@a:1,b:2/db", "postgres://me:se/secret@h/db",
		"postgres://me:a?secret@h/db", "postgres://me:a#secret@h/db", "postgres://me:a@secret@h/db", "nats://secret@h:1", "tls://secret@h:1", "nats://a:secret@h1,nats://b:secret@h2", "nats://h1,nats://secret@h2",
		"postgress://me:secret@h/db", "postgres:me:secret@h", "me secret:secret@h", "//me:secret@h", "me@secret", "password=secret", "host=h password=secret", "s3://b/p?secret_key=secret&accessKey=secret",
		" Postgres://me:secret@h ", "1x://me:secret@h", "redis://h?auth=secret", "redis://me:x@h/secret?a=b@secret?password=secret",
	} {
		if got := Redacted(a); strings.Contains(got, "secret@") || strings.Contains(strings.ReplaceAll(got, "secret_key", ""), "secret") && !strings.HasPrefix(got, "redis://xxxxx@secret?") {
			t.Errorf("%s is shown as %s", a, got)
		}
	}
	for a, want := range map[string]string{
		"file:/data/log": "file:/data/log", "sqlite:/data/a b@c.db": "sqlite:/data/a b@c.db", "memory:": "memory:", "nats:/data/nats": "nats:/data/nats", "nats:/data/a@b?prefix=x": "nats:/data/a@b?prefix=x",
		"posthouse.db": "posthouse.db", "postgres://me@h:5/db?schema=x": "postgres://me@h:5/db?schema=x", "postgres://me:p@h/db?schema=x": "postgres://me:xxxxx@h/db?schema=x",
		"postgres://me:p@a:1,b:2/db": "postgres://me:xxxxx@a:1,b:2/db", "s3://bucket/desk?region=eu": "s3://bucket/desk?region=eu", "nats://u:p@h1:1,h2": "nats://u:xxxxx@h1:1,h2", "": "",
	} {
		if got := Redacted(a); got != want {
			t.Errorf("%s is shown as %s, want %s", a, got, want)
		}
	}
}
