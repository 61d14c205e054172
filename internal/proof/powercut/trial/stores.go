package trial

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/powercut"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A Store is a kind of store as trials see it.
type Store struct {
	Name string

	url       func(dir string) string                                              // of a store without a server; nil: of the server
	open      func(ctx context.Context, url, weak string) (posthouse.Store, error) // weak is an arm's setting, or ""
	service   func() service                                                       // nil: the store has no server
	arms      []arm                                                                // settings that lose at a power cut
	starts    int                                                                  // changes of the disk while a server recovers; 0: few
	inOrder   bool                                                                 // its files have no checksums, so pages of one must reach the disk in their order
	needsExt4 bool                                                                 // it promises nothing where a name is not durable by any sync
	noDisk    bool                                                                 // it keeps nothing on a disk of ours: it is only killed
}

// Tries reports whether the harness says anything about the store.
func (s *Store) Tries(h Harness) bool { return h != Power || !s.noDisk }

// Promises reports whether the store is to lose nothing where names are durable as the
// model says, or under kills, which have no model.
func (s *Store) Promises(m powercut.Model) bool { return m != powercut.Strict || !s.needsExt4 }

// An arm is a setting that is known to lose what it acknowledges.
type arm struct {
	name  string
	weak  string // what open and the service are told
	lying bool   // the disk acknowledges syncs and does nothing
	early bool   // the child acknowledges before the commit
}

var (
	lying = arm{name: "a disk that syncs nothing", lying: true}
	early = arm{name: "acknowledged before the commit", early: true}
)

// Stores are all kinds, by the order in which they are tried.
func Stores() []*Store {
	return []*Store{
		{Name: "file", url: below("file:", "store"), open: open, arms: []arm{lying, early}},
		{Name: "sqlite", url: below("sqlite:", "posthouse.db"), open: openSQLite, arms: []arm{{name: "SyncNormal", weak: "normal"}, lying}},
		{Name: "postgres", open: openPostgres, service: newPostgres, starts: 3000, arms: []arm{
			{name: "synchronous_commit=off", weak: "synchronous_commit=off"}, {name: "fsync=off", weak: "fsync=off"},
		}},
		{Name: "redis", open: openRedis, service: newRedis, inOrder: true, arms: []arm{{name: "appendfsync everysec", weak: "everysec"}}},
		{Name: "nats", url: below("nats:", "nats"), open: open, needsExt4: true, arms: []arm{lying, early}},
		{Name: "s3", open: openS3, service: newBuckets, noDisk: true},
	}
}

// Find returns the store of a name, or nil.
func Find(name string) *Store {
	for _, s := range Stores() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func below(scheme, name string) func(dir string) string {
	return func(dir string) string { return scheme + filepath.Join(dir, "new", name) }
}

func open(ctx context.Context, url, _ string) (posthouse.Store, error) {
	return all.Open(ctx, url, nil)
}

func openSQLite(ctx context.Context, url, weak string) (posthouse.Store, error) {
	if weak == "" {
		return open(ctx, url, weak)
	}
	return orNil(sqlitestore.Open(ctx, strings.TrimPrefix(url, "sqlite:"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal}))
}

func openPostgres(ctx context.Context, url, weak string) (posthouse.Store, error) {
	if weak == "" {
		return open(ctx, url, weak)
	}
	return orNil(pgstore.Open(ctx, url, &pgstore.Options{AllowWeak: true}))
}

func openRedis(ctx context.Context, url, weak string) (posthouse.Store, error) {
	if weak == "" {
		return open(ctx, url, weak)
	}
	return orNil(redisstore.Open(ctx, url, &redisstore.Options{AllowWeak: true}))
}

func openS3(ctx context.Context, url, _ string) (posthouse.Store, error) {
	return orNil(s3store.Open(ctx, url, &s3store.Options{AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey}))
}

// orNil keeps a nil store from becoming an interface that is not nil.
func orNil[S posthouse.Store](s S, err error) (posthouse.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
