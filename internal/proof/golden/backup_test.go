package golden_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/s3store"
)

// opened closes a store with its test.
func opened[S posthouse.Store](t *testing.T) func(S, error) S {
	return func(store S, err error) S {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
}

// Files and NATS: a directory.

func createFiles(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
	dir := filepath.Join(t.TempDir(), "store")
	return opened[*filestore.Store](t)(filestore.Open(t.Context(), dir, nil)), dumpOf(dir)
}

func restoreFiles(t *testing.T, files map[string][]byte) posthouse.Store {
	return opened[*filestore.Store](t)(filestore.Open(t.Context(), directory(t, files), nil))
}

func createNATS(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
	dir := filepath.Join(t.TempDir(), "store")
	return opened[*natsstore.Store](t)(natsstore.Open(t.Context(), "nats:"+dir, nil)), dumpOf(dir)
}

func restoreNATS(t *testing.T, files map[string][]byte) posthouse.Store {
	return opened[*natsstore.Store](t)(natsstore.Open(t.Context(), "nats:"+directory(t, files), nil))
}

func dumpOf(dir string) func(*testing.T) map[string][]byte {
	return func(t *testing.T) map[string][]byte {
		files := map[string][]byte{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path == "lock" {
				return err
			}
			files[path], err = os.ReadFile(filepath.Join(dir, path))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
}

func directory(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Postgres: what pg_dump writes, with INSERT statements, so that any client reads it.

func createPostgres(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
	url := database(t)
	return opened[*pgstore.Store](t)(pgstore.Open(t.Context(), url, nil)), func(t *testing.T) map[string][]byte {
		bin, err := exec.LookPath("pg_dump")
		if err != nil {
			found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
			if len(found) == 0 {
				t.Fatal(err)
			}
			bin = slices.Max(found)
		}
		text, err := exec.Command(bin, "--no-owner", "--no-privileges", "--rows-per-insert=50", "--dbname="+url).Output()
		if err != nil {
			t.Fatal(err)
		}
		return map[string][]byte{"dump.sql": commands.ReplaceAll(text, nil)}
	}
}

// commands are lines that only psql understands.
var commands = regexp.MustCompile(`(?m)^\\.*\n`)

func restorePostgres(t *testing.T, files map[string][]byte) posthouse.Store {
	t.Helper()
	url := database(t)
	execute(t, url, string(files["dump.sql"]))
	return opened[*pgstore.Store](t)(pgstore.Open(t.Context(), url, nil))
}

// database makes a database that is dropped with the test.
func database(t *testing.T) string {
	t.Helper()
	server := pgtest.URL(t)
	name := "golden_" + strings.ToLower(rand.Text())
	execute(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { execute(t, server, "DROP DATABASE "+name) })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func execute(t *testing.T, url, statements string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it cleans up, too
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// Redis: each key as DUMP writes it.

const redisPrefix = "golden"

func createRedis(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
	url := redistest.Start(t).URL()
	store, err := redisstore.Open(t.Context(), url, &redisstore.Options{Prefix: redisPrefix})
	return opened[*redisstore.Store](t)(store, err), func(t *testing.T) map[string][]byte {
		c := client(t, url)
		keys, err := c.Do(t.Context(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, key := range keys {
			payload, err := c.Do(t.Context(), c.B().Dump().Key(key).Build()).AsBytes()
			if err != nil {
				t.Fatal(err)
			}
			files[hex.EncodeToString([]byte(key))] = payload
		}
		return files
	}
}

func restoreRedis(t *testing.T, files map[string][]byte) posthouse.Store {
	t.Helper()
	url := redistest.Start(t).URL()
	c := client(t, url)
	for name, payload := range files {
		key, err := hex.DecodeString(name)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Do(t.Context(), c.B().Restore().Key(string(key)).Ttl(0).SerializedValue(string(payload)).Build()).Error()
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	store, err := redisstore.Open(t.Context(), url, &redisstore.Options{Prefix: redisPrefix})
	return opened[*redisstore.Store](t)(store, err)
}

func client(t *testing.T, url string) rueidis.Client {
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

// S3: the objects.

const s3Bucket = "golden"

func createS3(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
	server := s3test.New(t)
	return openS3(t, server), func(*testing.T) map[string][]byte {
		files := map[string][]byte{}
		for _, key := range server.Keys(s3Bucket, "") {
			files[key] = server.Get(s3Bucket, key)
		}
		return files
	}
}

func restoreS3(t *testing.T, files map[string][]byte) posthouse.Store {
	server := s3test.New(t)
	for key, data := range files {
		server.Set(s3Bucket, key, data)
	}
	return openS3(t, server)
}

func openS3(t *testing.T, server *s3test.Server) posthouse.Store {
	t.Helper()
	store, err := s3store.Open(t.Context(), server.URL(s3Bucket, "desk"), &s3store.Options{
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	})
	return opened[*s3store.Store](t)(store, err)
}
