package powercut

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Model says when the names in directories are durable.
type Model string

// The models.
const (
	Ext4   Model = "ext4"   // any sync makes all earlier changes of names durable, in their order
	Strict Model = "strict" // only a sync of their directory does
)

// Faults are what goes wrong on a disk. The zero value is a good disk.
type Faults struct {
	CutAt int // the change before which the power goes, from 1; 0: never

	SyncAt int  // the sync that fails with EIO and loses its data, from 1; 0: no sync
	Sticky bool // all later ones fail, too

	FullAt  int // the change from which on there is no room, from 1; 0: there is room
	FullFor int // for so many changes

	Lying bool          // syncs succeed and do nothing
	Slow  time.Duration // a sync takes this
	Lag   time.Duration // and up to this
}

// Stats count what was done on a disk since [Disk.Arm].
type Stats struct {
	Changes int // of bytes and names, syncs included
	Syncs   int
	Failed  int // syncs that failed
	Full    int // changes for which there was no room
}

// A Disk is a file system in memory that knows what was synced. It is safe for concurrent
// use.
type Disk struct {
	mu      sync.Mutex
	model   Model
	root    *node
	inos    uint64
	marks   uint64   // numbers changes, so that a sync covers those before it
	journal []naming // changes of names that are not durable, oldest first
	faults  Faults
	stats   Stats
	inOrder bool // a file's changes are kept in their order
	off     bool // the power is gone
	cut     chan struct{}
}

// New returns an empty disk.
func New(model Model) *Disk {
	d := &Disk{model: model, cut: make(chan struct{})}
	d.root = d.newNode(folder, 0o755, 0, 0)
	return d
}

// KeepOrder makes cuts keep the changes of each file in their order: what is lost is its
// newest ones. Without it any change may be kept after a lost one.
func (d *Disk) KeepOrder() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inOrder = true
}

// Arm sets what goes wrong from now on, and counts from zero. The channel is closed when
// the power goes: from then on every operation fails with EIO.
func (d *Disk) Arm(f Faults) (off <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.stats = f, Stats{}
	return d.cut
}

// Off cuts the power now, if it is not gone.
func (d *Disk) Off() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.powerOff()
}

func (d *Disk) powerOff() {
	if !d.off {
		d.off = true
		close(d.cut)
	}
}

// Stats returns what was done since [Disk.Arm].
func (d *Disk) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// PersistAll makes all there is durable, as if everything had been synced long ago.
func (d *Disk) PersistAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose(rand.New(rand.NewPCG(0, 0)), 1)
}

// Cut leaves what a power cut does, and gives the disk its power back, without faults. It
// keeps each change that was not synced with a probability, by the chances of rnd. The
// disk must not be mounted.
func (d *Disk) Cut(rnd *rand.Rand, keep float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose(rnd, keep)
	d.off, d.faults, d.stats = false, Faults{}, Stats{}
	d.cut = make(chan struct{})
}

// lose decides about every change that is not durable.
func (d *Disk) lose(rnd *rand.Rand, keep float64) {
	for _, n := range d.journal {
		if rnd.Float64() < keep {
			n.apply(nil)
		} else if d.model == Ext4 {
			break // its journal is in order
		}
	}
	d.journal = nil
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		n.links++
		if seen[n] {
			return
		}
		seen[n], n.links = true, 1
		if n.kind == file {
			n.lose(rnd, keep, d.inOrder)
			return
		}
		n.entries = make(map[string]*node, len(n.names))
		for _, name := range sortedNames(n.names) {
			n.entries[name] = n.names[name]
			walk(n.names[name])
		}
	}
	walk(d.root)
}

// A change is a kind of operation that a disk counts.
type change int

const (
	grows   change = iota // needs room
	changes               // does not
	syncs
)

// begin counts an operation, and says what goes wrong with it.
func (d *Disk) begin(c change) error {
	if d.off {
		return syscall.EIO
	}
	d.stats.Changes++
	f, s := &d.faults, &d.stats
	if f.CutAt > 0 && s.Changes >= f.CutAt {
		d.powerOff()
		return syscall.EIO
	}
	if c == grows && f.FullAt > 0 && s.Changes >= f.FullAt && s.Changes < f.FullAt+f.FullFor {
		s.Full++
		return syscall.ENOSPC
	}
	if c == syncs {
		s.Syncs++
		if f.SyncAt > 0 && (s.Syncs == f.SyncAt || f.Sticky && s.Syncs > f.SyncAt) {
			s.Failed++
			return syscall.EIO
		}
	}
	return nil
}

func (d *Disk) nextMark() uint64 {
	d.marks++
	return d.marks
}

// sync makes durable what was changed in a file, or directory, before the call.
func (d *Disk) sync(n *node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	upTo, err := d.marks, d.begin(syncs)
	if err != nil {
		if !d.off {
			n.forget(upTo) // a second sync does not write what the first one failed to
		}
		return err
	}
	if lasts := d.faults.lasts(); lasts > 0 {
		patience, off := time.NewTimer(lasts), d.cut
		d.mu.Unlock()
		select {
		case <-patience.C:
		case <-off:
		}
		patience.Stop()
		d.mu.Lock()
		if d.off {
			return syscall.EIO
		}
	}
	if !d.faults.Lying {
		d.persist(n, upTo)
	}
	return nil
}

// lasts returns how long a sync takes.
func (f *Faults) lasts() time.Duration {
	if f.Lag > 0 {
		return f.Slow + rand.N(f.Lag)
	}
	return f.Slow
}

// persist makes changes durable up to a mark.
func (d *Disk) persist(n *node, upTo uint64) {
	n.persist(upTo)
	if d.model == Strict && n.kind != folder {
		return
	}
	var only *node
	if d.model == Strict {
		only = n
	}
	d.journal = slices.DeleteFunc(d.journal, func(c naming) bool {
		return c.mark <= upTo && c.apply(only)
	})
}

// String describes the disk in one line.
func (d *Disk) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%s: %+v, %d names not durable", d.model, d.stats, len(d.journal))
}

// IsOff reports whether the power is gone.
func (d *Disk) IsOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}

// WhenOff returns the channel that is closed when the power goes.
func (d *Disk) WhenOff() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut
}

// TryMount mounts the disk on a directory and takes it away again, to see whether that can
// be done here.
func (d *Disk) TryMount(dir string) error {
	m, err := d.Mount(dir)
	if err != nil {
		return err
	}
	return m.Unmount()
}
