package s3store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// A Store keeps threads as objects under one prefix of a bucket. Besides
// [posthouse.Store] it is a Watcher, Checker, SlotLister and BulkAppender. Any number of
// Stores, in any number of processes, may use the same prefix.
type Store struct {
	opts    Options
	objects objects
	slots   slots
	life    string // in cursors: commits of another store start at 1 again

	view    view
	pulls   *groupcommit.Queue[struct{}] // readers share what asks for the next commit
	asking  sync.WaitGroup               // those who do
	writes  *groupcommit.Queue[*request]
	begin   time.Time // when the next write may begin; of the leader
	took    time.Duration
	purging sync.Mutex
	cache   cache

	lifecycle lifecycle.State
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
)

// An entry is one that the index knows. Its place may change under the index's lock.
type entry = memindex.Entry

func entryPlace(e *entry) *place { return memindex.Data[place](e) }

// A place is where an entry is in the object of its commit.
type place struct{ at, head, body uint32 }

// perCommit is how many entries a commit has room for: an entry's number is its commit's
// times perCommit, and its place in it.
const perCommit = 1 << 16

// Open opens the store under a URL, s3://bucket/prefix?endpoint=host&region=name. The
// bucket must exist. Open fails with [posthouse.ErrUnsupported] if the service does not
// heed conditions of writes, or if the bucket keeps old versions and Options.AllowVersions
// is not set; with [posthouse.ErrNewer] if a newer version has written the store; with
// [posthouse.ErrCorrupt] if a commit is missing or damaged. It reads the heads of all
// entries.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	opts := o.withDefaults()
	t, err := opts.configure(url)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, view: newView()}
	s.objects = objects{prefix: t.prefix, where: t.String(), timeout: opts.Timeout, logger: opts.Logger, lifecycle: &s.lifecycle}
	s.slots = slots{&s.objects}
	s.lifecycle = lifecycle.State{Store: "the store " + s.objects.where, ReadOnly: opts.ReadOnly, Writer: "a process"}
	s.objects.bucket, err = opts.connect(t)
	if err != nil {
		return nil, posthouse.Invalid("store", "%v", err)
	}
	s.pulls = groupcommit.New(1<<20, func(struct{}) int { return 1 }, s.pullGroup)
	s.writes = groupcommit.New(maxGroupCost, (*request).cost, s.commit)
	err = s.identify(ctx)
	if err == nil {
		err = s.load(ctx)
	}
	if err != nil {
		s.objects.bucket.close()
		return nil, away.Read(s.objects.wrap("open the store", err))
	}
	s.view.index.Refresh = func(ctx context.Context) error { return away.Read(s.refresh(ctx)) }
	return s, nil
}

// format is the number of the layout of objects.
const format = 1

// An identity is the object that makes a prefix a store.
type identity struct {
	Format int    `json:"format"`
	Life   string `json:"life"`
}

// identify makes the store or finds it, and proves the service's conditions by writes of
// the same bytes, which it must refuse.
func (s *Store) identify(ctx context.Context) error {
	key := s.objects.prefix + "posthouse.json"
	have, err := s.objects.get(ctx, "open the store", key, 0, 0)
	if errors.Is(err, errAbsent) {
		if s.opts.ReadOnly {
			return posthouse.NotFound("store at", s.objects.where)
		}
		var life [8]byte
		_, _ = rand.Read(life[:]) // never fails: crypto/rand aborts the program instead
		text, _ := json.Marshal(identity{format, hex.EncodeToString(life[:])})
		_, err = s.objects.put(ctx, "create the store", key, text, "")
		if err == nil || errors.Is(err, errTaken) {
			have, err = s.objects.get(ctx, "open the store", key, 0, 0)
		}
	}
	if err != nil {
		return err
	}
	var id identity
	if err := json.Unmarshal(have.data, &id); err != nil || id.Format < 1 || id.Life == "" {
		return s.objects.corrupt(key, "it does not say the store's format")
	}
	if id.Format > format {
		return &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the store %s has format %d; this program knows formats up to %d", s.objects.where, id.Format, format),
			Hint: "use that version or a newer one; nothing was changed",
		}
	}
	s.life = id.Life
	if s.opts.ReadOnly {
		return nil
	}
	return s.prove(ctx, key, have)
}

// prove refuses a service that does not heed conditions, and a bucket that keeps versions.
func (s *Store) prove(ctx context.Context, key string, have object) error {
	for condition, tag := range map[string]string{"If-None-Match": "", "If-Match": "0123456789abcdef0123456789abcdef"} {
		if _, err := s.objects.put(ctx, "open the store", key, have.data, tag); !errors.Is(err, errTaken) {
			if err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
				return err
			}
			return &posthouse.Error{
				Code: posthouse.CodeUnsupported, Message: fmt.Sprintf("the service of %s does not heed the condition %s of a write", s.objects.where, condition), Err: err,
				Hint: "use a service that has conditional writes: without them two processes overwrite each other's commits",
			}
		}
	}
	if !s.opts.AllowVersions && (have.version != "" && have.version != "null" || s.objects.bucket.versions(ctx)) {
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "the bucket of " + s.objects.where + " keeps old versions, so what is removed stays",
			Hint: "use a bucket without versions, or set Options.AllowVersions and a rule that ends old versions",
		}
	}
	return nil
}

// Close waits for writes in progress and closes the connections. Acknowledged writes are
// durable without it. A second call returns nil.
func (s *Store) Close() error {
	if !s.lifecycle.Close() {
		return nil
	}
	_ = s.writes.Do(context.Background(), &request{}) // waits for the group before it
	s.purging.Lock()
	defer s.purging.Unlock()
	s.view.index.Close()
	s.asking.Wait()
	s.objects.bucket.close()
	return nil
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	return "S3", "what is acknowledged is in an object of the bucket", 0, ctx.Err()
}
