package all_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"memory:", " Memory: ", "memory://"} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*memstore.Store); err != nil || !ok {
			t.Errorf("%q: %T %v", url, s, err)
		}
	}
	server := pgtest.URL(t) + "&schema=all"
	for _, url := range []string{server, " Postgres" + strings.TrimPrefix(server, "postgres"), "postgresql" + strings.TrimPrefix(server, "postgres")} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*pgstore.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "a", "posthouse.db")
	for _, url := range []string{"sqlite:" + path, " SQLite:" + path + "\n", "sqlite://" + path} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*sqlitestore.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	for _, url := range []string{"file:" + filepath.Join(dir, "files"), " File://" + filepath.Join(dir, "files")} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*filestore.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestOpenRedis(t *testing.T) {
	url := redistest.URL(t) + "?prefix=all"
	for _, url := range []string{url, " Redis" + strings.TrimPrefix(url, "redis")} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*redisstore.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	s, err := all.Open(t.Context(), "rediss"+strings.TrimPrefix(url, "redis"), nil)
	if !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("TLS to a server without: %v", err)
	}
}

// TestOpenWeak opens what a server is set to lose, where that is accepted, and tells the
// logger.
func TestOpenWeak(t *testing.T) {
	for setting, url := range map[string]string{
		"appendfsync": redistest.Start(t, "appendfsync", "everysec").URL(), "synchronous_commit": pgtest.URL(t) + "&schema=weak&synchronous_commit=off",
	} {
		var log bytes.Buffer
		o := &all.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if s, err := all.Open(t.Context(), url, o); !errors.Is(err, posthouse.ErrUnsupported) || s != nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", setting, err)
		}
		o.AllowWeak = true
		s, err := all.Open(t.Context(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "may lose acknowledged writes") || !strings.Contains(log.String(), setting) {
			t.Errorf("%s: the log says %s", setting, &log)
		}
	}
}

func TestOpenNATS(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"nats:" + dir, " NATS:" + dir + "?prefix=posthouse", "nats://" + dir} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*natsstore.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		if r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrLocked) || r != nil {
			t.Errorf("a directory that is open: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, url := range []string{"nats://127.0.0.1:1", "tls://127.0.0.1:1"} {
		if s, err := all.Open(t.Context(), url, nil); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestOpenS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	url := s3test.New(t).URL("bucket", "all")
	for _, url := range []string{url, " S3" + strings.TrimPrefix(url, "s3") + "\n"} {
		s, err := all.Open(t.Context(), url, nil)
		if _, ok := s.(*s3store.Store); err != nil || !ok {
			t.Fatalf("%q: %T %v", url, s, err)
		}
		r, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if s, err := all.Open(t.Context(), "s3:", nil); !errors.Is(err, posthouse.ErrInvalid) || s != nil {
		t.Errorf("no bucket: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "memory", "memory:x", "file:", "file://", "sqlite:", "sqlite: ", "sqlite://", "/tmp/x.db", "sqlite3:/tmp/x"} {
		s, err := all.Open(t.Context(), url, nil)
		if !errors.Is(err, posthouse.ErrInvalid) || s != nil ||
			!strings.Contains(err.Error(), "memory:") || !strings.Contains(err.Error(), "sqlite:PATH") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := all.Open(t.Context(), "memory:", &all.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("memory beside its process: %v", err)
	}
	if _, err := all.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "none.db"), &all.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
}

// TestSecretsAreNotEchoed gives every kind of store addresses that are refused or lead
// nowhere. No error repeats the password in them.
func TestSecretsAreNotEchoed(t *testing.T) {
	for _, url := range []string{
		"postgress://me:hunter2@127.0.0.1/db", "postgress:me:hunter2@127.0.0.1/db", "me:hunter2@127.0.0.1", "hunter2@127.0.0.1", "//me:hunter2@127.0.0.1", "memory:hunter2@x", "http://me:hunter2@127.0.0.1:1",
		"postgres://me:hunter2@127.0.0.1:1/db", "postgres://me:hunter2@127.0.0.1:bad/db", "postgres://me:hunter2%zz@127.0.0.1/db", "postgres:///db?password=hunter2&host=127.0.0.1&port=1", "postgres:///db?password=hunter2&port=bad", "postgres:me:hunter2@127.0.0.1",
		"redis://me:hunter2@127.0.0.1:1", "redis://me:hunter2@127.0.0.1:bad", "redis://me:hunter2%zz@127.0.0.1", "redis://127.0.0.1:1?password=hunter2", "redis:me:hunter2@127.0.0.1",
		"nats://me:hunter2@127.0.0.1:1", "nats://hunter2@127.0.0.1:1", "nats://me:hunter2@127.0.0.1:bad", "nats://me:hunter2%zz@127.0.0.1", "tls://me:hunter2@127.0.0.1:1",
		"s3://me:hunter2@bucket/x", "s3://bucket/x?secret_key=hunter2", "s3://bucket/x?endpoint=me:hunter2@127.0.0.1:1", "s3://bucket%zz:hunter2@/x",
	} {
		var log strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		s, err := all.Open(ctx, url, &all.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		cancel()
		if err == nil {
			_ = s.Close()
			t.Errorf("%s is opened", url)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(fmt.Sprintf("%v %+v", e, e), "hunter2") {
				t.Errorf("%s: the error says %v", url, e)
			}
		}
		if strings.Contains(log.String(), "hunter2") {
			t.Errorf("%s: the log says %s", url, log.String())
		}
	}
	_, err := all.Open(t.Context(), "posthouse.db", nil)
	if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), `"posthouse.db" has no scheme`) {
		t.Errorf("a path without a scheme: %v", err)
	}
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := all.Open(ctx, "memory:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	led, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	saved, err := led.Save(ctx, posthouse.Root("order-1234", nil), nil)
	fmt.Println(saved.Thread, err)

	_, err = all.Open(ctx, "tape:7", nil)
	fmt.Println(err)
	// Output:
	// order-1234 <nil>
	// posthouse: store has the scheme "tape", which is not known (known are memory:, file:DIR, sqlite:PATH, postgres://USER@HOST/DATABASE, redis://HOST:PORT, nats:DIR, nats://HOST:PORT and s3://BUCKET/PREFIX)
}
