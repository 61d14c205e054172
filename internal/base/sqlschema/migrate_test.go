package sqlschema_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/posthouse/posthouse/internal/base/sqlschema"
)

// A fakeDB is a database that can fail at its n-th call.
type fakeDB struct {
	mu       sync.Mutex // of a transaction
	version  int
	scripts  []string
	calls    int
	failAt   int
	sawOther func() // called in Version, to let others in between
}

var errFake = errors.New("no more")

func (d *fakeDB) call() error {
	if d.calls++; d.calls == d.failAt {
		return errFake
	}
	return nil
}

func (d *fakeDB) Version(context.Context) (int, error) { return d.version, d.call() }

func (d *fakeDB) Update(_ context.Context, fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sawOther != nil {
		d.sawOther()
	}
	version, scripts := d.version, slices.Clone(d.scripts)
	err := fn()
	if err == nil {
		err = d.call() // the commit
	}
	if err != nil {
		d.version, d.scripts = version, scripts
	}
	return err
}

func (d *fakeDB) Exec(_ context.Context, script string) error {
	d.scripts = append(d.scripts, script)
	return d.call()
}

func (d *fakeDB) SetVersion(_ context.Context, v int) error {
	d.version = v
	return d.call()
}

func three() []sqlschema.Migration {
	ms, err := sqlschema.Load(fstest.MapFS{
		"0001_init.sql": {Data: []byte("one")}, "0002_more.sql": {Data: []byte("two")},
		"0003_most.sql": {Data: []byte("three")}, "README.md": {},
	})
	if err != nil {
		panic(err)
	}
	return ms
}

func TestMigrateRunsWhatIsMissing(t *testing.T) {
	for have, want := range [][]string{{"one", "two", "three"}, {"two", "three"}, {"three"}, nil} {
		d := &fakeDB{version: have}
		if err := sqlschema.Migrate(t.Context(), d, three()); err != nil {
			t.Fatal(err)
		}
		if d.version != 3 || !slices.Equal(d.scripts, want) {
			t.Errorf("from %d: version %d after %q", have, d.version, d.scripts)
		}
	}
}

func TestMigrateFailsAtAnyCallAndGoesOnFromThere(t *testing.T) {
	for n := 1; ; n++ {
		d := &fakeDB{failAt: n}
		err := sqlschema.Migrate(t.Context(), d, three())
		if err == nil {
			if n < 10 {
				t.Fatalf("only %d calls", n)
			}
			return
		}
		if !errors.Is(err, errFake) {
			t.Fatal(err)
		}
		if len(d.scripts) != d.version {
			t.Fatalf("call %d: version %d after %q", n, d.version, d.scripts)
		}
		d.failAt = 0
		if err := sqlschema.Migrate(t.Context(), d, three()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.scripts, []string{"one", "two", "three"}) {
			t.Fatalf("call %d: %q", n, d.scripts)
		}
	}
}

func TestMigrateFindsItDoneByAnother(t *testing.T) {
	d := &fakeDB{}
	d.sawOther = func() { d.version, d.scripts, d.sawOther = 3, []string{"one", "two", "three"}, nil }
	if err := sqlschema.Migrate(t.Context(), d, three()); err != nil {
		t.Fatal(err)
	}
	if len(d.scripts) != 3 {
		t.Errorf("ran %q", d.scripts)
	}
}

func TestNewerIsRefused(t *testing.T) {
	d := &fakeDB{version: 4}
	for name, err := range map[string]error{
		"Migrate": sqlschema.Migrate(t.Context(), d, three()), "Check": sqlschema.Check(t.Context(), d, three()),
	} {
		var newer *sqlschema.NewerError
		if !errors.As(err, &newer) || newer.Database != 4 || newer.Program != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(d.scripts) > 0 || d.version != 4 {
		t.Error("it was changed")
	}
}

func TestCheck(t *testing.T) {
	if err := sqlschema.Check(t.Context(), &fakeDB{version: 3}, three()); err != nil {
		t.Error(err)
	}
	if err := sqlschema.Check(t.Context(), &fakeDB{version: 2}, three()); err == nil {
		t.Error("an older schema passed")
	}
	if err := sqlschema.Check(t.Context(), &fakeDB{failAt: 1}, three()); !errors.Is(err, errFake) {
		t.Error(err)
	}
}

func TestLoadRefusesGapsAndOddNames(t *testing.T) {
	for _, names := range [][]string{
		{"0002_first.sql"}, {"0001_a.sql", "0003_b.sql"}, {"0001_a.sql", "0001_b.sql"}, {"1_a.sql"}, {"0001.sql"}, {"init_x.sql"},
	} {
		fsys := fstest.MapFS{}
		for _, n := range names {
			fsys[n] = &fstest.MapFile{}
		}
		if _, err := sqlschema.Load(fsys); err == nil {
			t.Errorf("%q was loaded", names)
		}
	}
	if ms, err := sqlschema.Load(fstest.MapFS{}); err != nil || len(ms) != 0 {
		t.Errorf("%v %v", ms, err)
	}
	fsys := fstest.MapFS{"0001_dir.sql/x": {}}
	if _, err := sqlschema.Load(fsys); err == nil {
		t.Error("a directory was loaded")
	}
}

func ExampleMigrate() {
	db := &fakeDB{version: 1}
	if err := sqlschema.Migrate(context.Background(), db, three()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(db.version, db.scripts)
	// Output: 3 [two three]
}

func TestMigrateRunsWhatFollowsAScript(t *testing.T) {
	ms, ran := three(), 0
	ms[1].Then = func(context.Context) error {
		if ran++; ran == 1 {
			return errFake
		}
		return nil
	}
	d := &fakeDB{version: 1}
	if err := sqlschema.Migrate(t.Context(), d, ms); !errors.Is(err, errFake) || d.version != 1 || len(d.scripts) != 0 {
		t.Fatalf("%v, version %d after %q", err, d.version, d.scripts)
	}
	if err := sqlschema.Migrate(t.Context(), d, ms); err != nil || d.version != 3 || ran != 2 {
		t.Errorf("%v, version %d, ran %d times", err, d.version, ran)
	}
}
