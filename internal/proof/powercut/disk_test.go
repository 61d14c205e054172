package powercut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A walker does random operations on a mounted disk and on its oracle.
type walker struct {
	t   *testing.T
	rnd *rand.Rand
	dir string
	o   *oracle
}

// places are the paths that are used: few, so that they meet.
var places = []string{"a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "e/d", "e/d/a"}

func (w *walker) place() string { return places[w.rnd.IntN(len(places))] }

// step does one operation, if it can be done, and reports whether it was.
func (w *walker) step() error {
	p := w.place()
	n, at := w.o.node(p), filepath.Join(w.dir, p)
	if dir, _ := w.o.at(p); dir == nil {
		return nil
	}
	switch op := w.rnd.IntN(10); {
	case n == nil && (p == "d" || p == "e" || p == "e/d"):
		w.o.name(p, oracleDir())
		return os.Mkdir(at, 0o755)
	case n == nil && op < 6:
		w.o.name(p, &oracleNode{data: [][]byte{nil}})
		return os.WriteFile(at, nil, 0o600)
	case n == nil:
		return w.rename(p)
	case n.dir && op < 3 && len(n.list()) == 0:
		w.o.name(p, nil)
		return os.Remove(at)
	case n.dir:
		w.o.syncDir(n)
		return fsync(at)
	case op < 1:
		w.o.name(p, nil)
		return os.Remove(at)
	case op < 3:
		return w.rename(p)
	case op < 4:
		w.o.syncFile(n)
		return fsync(at)
	case op < 5:
		size := w.rnd.IntN(20000)
		b := make([]byte, size)
		copy(b, n.now())
		n.data = append(n.data, b)
		return os.Truncate(at, int64(size))
	}
	return w.write(n, at)
}

func (w *walker) write(n *oracleNode, at string) error {
	part := make([]byte, 1+w.rnd.IntN(9000))
	for i := range part {
		part[i] = byte(w.rnd.Uint32())
	}
	off, flags := w.rnd.IntN(len(n.now())+3000), os.O_WRONLY
	synced := w.rnd.IntN(8) == 0
	if synced {
		flags |= os.O_SYNC
	}
	b := make([]byte, max(len(n.now()), off+len(part)))
	copy(b, n.now())
	copy(b[off:], part)
	n.data = append(n.data, b)
	if synced {
		w.o.syncFile(n)
	}
	f, err := os.OpenFile(at, flags, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(part, int64(off))
	return errors.Join(err, f.Close())
}

// rename gives another file's name to the place.
func (w *walker) rename(to string) error {
	from := w.place()
	n, old := w.o.node(from), w.o.node(to)
	if n == nil || n.dir || n == old || old != nil && old.dir {
		return nil
	}
	w.o.name(to, n)
	w.o.name(from, nil)
	return os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to))
}

func fsync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// TestDiskAgainstOracle does random operations and cuts the power: what must be there is,
// and nothing that cannot be.
func TestDiskAgainstOracle(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	for _, model := range []Model{Ext4, Strict} {
		for _, keep := range []float64{0, 1, 0.5} {
			t.Run(fmt.Sprint(model, " ", keep), func(t *testing.T) {
				for seed := range rounds {
					if err := cutAtRandom(t, model, keep, uint64(seed)); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			})
		}
	}
}

func cutAtRandom(t *testing.T, model Model, keep float64, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 1))
	d, o := New(model), newOracle(model)
	dir, unmount := mounted(t, d)
	w := &walker{t: t, rnd: rnd, dir: dir, o: o}
	for i := range 20 + rnd.IntN(150) {
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if err := o.want(dir, true); err != nil {
		return fmt.Errorf("before the cut: %w", err)
	}
	unmount()
	d.Cut(rnd, keep)
	dir, unmount = mounted(t, d)
	defer unmount()
	if keep == 0.5 {
		return o.allows(dir)
	}
	return o.want(dir, keep == 1)
}

// TestCutAtEachChange cuts the power before each change of a file that is written and
// synced: before the sync all is lost, after it nothing.
func TestCutAtEachChange(t *testing.T) {
	for cut := 1; ; cut++ {
		d := New(Strict)
		dir, unmount := mounted(t, d)
		off := d.Arm(Faults{CutAt: cut})
		err := func() error {
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600); err != nil {
				return err
			}
			return errors.Join(fsync(filepath.Join(dir, "f")), fsync(dir))
		}()
		if (err != nil) != isClosed(off) {
			t.Errorf("cut %d: %v", cut, err)
		}
		unmount()
		d.Cut(rand.New(rand.NewPCG(1, 1)), 0)
		dir, unmount = mounted(t, d)
		text, rerr := os.ReadFile(filepath.Join(dir, "f"))
		unmount()
		if err == nil {
			if string(text) != "text" || rerr != nil {
				t.Errorf("after all: %q %v", text, rerr)
			}
			if cut != 5 { // create, write, two syncs
				t.Errorf("%d changes", cut-1)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) || !errors.Is(rerr, os.ErrNotExist) {
			t.Errorf("cut %d: %v, then %q %v", cut, err, text, rerr)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestFailingSync fails one sync: a second one succeeds, and what the first was for is
// lost all the same.
func TestFailingSync(t *testing.T) {
	for _, sticky := range []bool{false, true} {
		d := New(Ext4)
		dir, unmount := mounted(t, d)
		at := filepath.Join(dir, "f")
		if err := errors.Join(os.WriteFile(at, []byte("text"), 0o600), fsync(dir)); err != nil {
			t.Fatal(err)
		}
		d.Arm(Faults{SyncAt: 1, Sticky: sticky})
		if err := fsync(at); !errors.Is(err, syscall.EIO) {
			t.Errorf("the sync that fails: %v", err)
		}
		if err := fsync(at); (err != nil) != sticky {
			t.Errorf("the next one: %v", err)
		}
		unmount()
		d.Cut(rand.New(rand.NewPCG(1, 1)), 1)
		dir, unmount = mounted(t, d)
		if text, err := os.ReadFile(filepath.Join(dir, "f")); len(text) > 0 || err != nil {
			t.Errorf("after a sync that failed: %q %v", text, err)
		}
		unmount()
	}
}

// TestFullDisk has no room for a while.
func TestFullDisk(t *testing.T) {
	d := New(Ext4)
	dir, unmount := mounted(t, d)
	defer unmount()
	at := filepath.Join(dir, "f")
	if err := os.WriteFile(at, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Arm(Faults{FullAt: 1, FullFor: 2})
	for range 2 {
		if err := os.WriteFile(filepath.Join(dir, "g"), nil, 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("without room: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "g"), nil, 0o600); err != nil {
		t.Errorf("with room: %v", err)
	}
	if got := d.Stats(); got.Full != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestLyingDisk acknowledges syncs and does nothing: all is lost.
func TestLyingDisk(t *testing.T) {
	d := New(Ext4)
	dir, unmount := mounted(t, d)
	d.Arm(Faults{Lying: true, Lag: time.Millisecond})
	at := filepath.Join(dir, "f")
	if err := errors.Join(os.WriteFile(at, []byte("text"), 0o600), fsync(at), fsync(dir)); err != nil {
		t.Fatal(err)
	}
	unmount()
	d.Cut(rand.New(rand.NewPCG(1, 1)), 0)
	dir, unmount = mounted(t, d)
	defer unmount()
	if _, err := os.Stat(filepath.Join(dir, "f")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file whose sync did nothing: %v", err)
	}
}

// TestKeepOrder keeps some of a file's changes: those that are kept are its first ones.
func TestKeepOrder(t *testing.T) {
	d := New(Ext4)
	d.KeepOrder()
	n, err := d.create(d.root, "f", file, 0o600, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.persist(n, d.marks)
	for i := range 20 {
		if err := d.write(n, []byte{byte(i + 1)}, int64(i)*pieceSize, false); err != nil {
			t.Fatal(err)
		}
	}
	d.Cut(rand.New(rand.NewPCG(1, 1)), 0.9)
	kept := int(n.now.size-1)/pieceSize + 1
	if kept < 1 || kept > 19 {
		t.Fatalf("%d are kept: the chances prove nothing", kept)
	}
	for i := range kept {
		if b := n.now.blocks[i]; b == nil || b[0] != byte(i+1) {
			t.Errorf("change %d of %d is lost", i, kept)
		}
	}
}
