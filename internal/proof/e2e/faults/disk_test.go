package faults

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/powercut"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// onDisk are the kinds of stores that keep their data on a disk of ours. S3 is a service.
var onDisk = []string{"file", "sqlite", "postgres", "redis", "nats", "nats in the process"}

// A place is a store on a disk that does what it is told, and a client of it.
type place struct {
	*process
	kind string
	site *site.Site
	disk *powercut.Disk
}

// eachOnDisk has a test for every kind, each with a disk of its own. Calls to a server end after
// timeout, 0: as the store has it.
func eachOnDisk(t *testing.T, timeout time.Duration, test func(*place)) {
	err := powercut.New(powercut.Ext4).TryMount(t.TempDir())
	if err != nil && (!powercut.Available() || os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "") {
		t.Skipf("FAULTS OF DISKS ARE NOT TESTED, no disk can be mounted here: %v", err)
	}
	if err != nil {
		t.Fatalf("there is a /dev/fuse, and no disk can be mounted: %v", err)
	}
	template := t.TempDir()
	for _, name := range onDisk {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "file" {
				t.Skip("the harness is the same for each store")
			}
			t.Parallel() // most of the time all wait
			test(newPlace(t, name, template, timeout))
		})
	}
}

func newPlace(t *testing.T, name, template string, timeout time.Duration) *place {
	t.Helper()
	k := site.Find(name)
	if !k.Installed() {
		if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
			t.Skipf("no %s is installed", name)
		}
		t.Fatalf("no %s is installed", name)
	}
	dir := t.TempDir()
	for up := dir; filepath.Base(up) != "/" && up != os.TempDir(); up = filepath.Dir(up) { // a server has another user
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{kind: name, disk: powercut.New(powercut.Ext4)}
	if name == "postgres" { // its data is made where that takes less time
		s, err := k.Start(template)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if err := p.disk.Import(filepath.Join(template, "data"), "data"); err != nil {
			t.Fatal(err)
		}
	}
	mounted, err := p.disk.Mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mounted.Unmount(); err != nil {
			t.Error(err)
		}
	})
	p.site, err = k.Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.site.Close)
	t.Cleanup(func() { p.disk.Arm(powercut.Faults{}) }) // so that all can end
	p.process = start(t, p.site.URL("desk", ""), timeout)
	return p
}

// is reports whether the place's kind is one of these.
func (p *place) is(kinds ...string) bool { return slices.Contains(kinds, p.kind) }

// TestSlowDisk has each sync of a disk take 2 to 2.5 s. Writers that come together share
// commits, where a store shares them, so sixteen take no longer than a few. A caller that
// gives up gets an error or the outcome within the store's own time, and may ask again:
// nothing is lost, nor written twice.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	eachOnDisk(t, 0, func(p *place) {
		p.wantWritten("before", 16, 100)
		p.disk.Arm(powercut.Faults{Slow: 2 * time.Second, Lag: time.Second / 2})
		writers := 16
		if p.is("nats", "nats in the process") {
			writers = 3 // the server syncs each message by itself
		}
		begun := time.Now()
		p.wantCodes("on a slow disk", p.write(writers, 100, 0), "")
		took := time.Since(begun)
		p.t.Logf("%d writers took %v", writers, took.Round(10*time.Millisecond))
		if took < 2*time.Second || took > 30*time.Second {
			p.t.Errorf("%d writers took %v, want 2 to 30 s", writers, took)
		}
		for _, r := range p.write(4, 100, 200*time.Millisecond) {
			if r.Took > 15*time.Second || r.Code != "" && r.Code != "unknown" && r.Code != "deadline" {
				p.t.Errorf("a caller whose patience ends: %q after %v", r.Code, r.Took)
			}
		}
		p.disk.Arm(powercut.Faults{})
		p.wantWritten("afterwards", 16, 100)
		p.wantSound("afterwards")
	})
}

// hasServer reports whether the place's store is kept by a process of its own.
func (p *place) hasServer() bool { return p.is("postgres", "redis", "nats") }

// revive starts what a fault has stopped for good: a server, or the one in the client.
func (p *place) revive() {
	p.t.Helper()
	switch {
	case p.hasServer():
		if err := p.site.Restart(); err != nil {
			p.t.Fatal(err)
		}
	case p.is("nats in the process"):
		p.reopen()
	}
}

// wantCodes wants each result to be one of these codes; "" is an acknowledgement.
func (p *place) wantCodes(when string, results []result, codes ...string) {
	p.t.Helper()
	for _, r := range results {
		if !slices.Contains(codes, r.Code) {
			p.t.Errorf("%s: %q after %v, want one of %q", when, r.Code, r.Took, codes)
		}
	}
}

// TestFullDisk fills the disk under each store and its server. Nothing that did not find room
// is acknowledged. Acknowledged writes are there, and writing goes on once there is room: on
// files, SQLite and NATS in the process in the same open store, elsewhere once the server,
// which ends itself or stops writing, was started again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	eachOnDisk(t, 3*time.Second, func(p *place) {
		const size = 300 << 10 // no room is left over for it
		p.wantWritten("before", 4, 100)
		p.disk.Arm(powercut.Faults{FullAt: 1, FullFor: 1 << 30})
		told := []string{"unknown", "full"}
		if !p.hasServer() {
			told = []string{"full"}
		}
		for range 2 {
			p.wantCodes("on a full disk", p.write(4, size, 0), told...)
		}
		if !p.hasServer() {
			p.wantSound("on a full disk")
		}
		if p.disk.Stats().Full == 0 {
			p.t.Error("there was room: the test proves nothing")
		}
		p.disk.Arm(powercut.Faults{})
		if p.hasServer() {
			p.revive()
		}
		p.wantWritten("with room", 4, size)
		p.wantWritten("with room", 4, size)
		p.wantSound("with room")
	})
}

// TestFailingSync fails one sync with EIO under each store and its server. The write is not
// reported as refused: its outcome is unknown. Stores on local files take no more writes
// until they are opened again, though the next sync would succeed. Postgres stops and
// recovers by itself, Redis ends itself, and NATS stops writing: they are started again. Then
// all acknowledged writes are there, and unknown ones are repeated.
func TestFailingSync(t *testing.T) {
	t.Parallel()
	eachOnDisk(t, 3*time.Second, func(p *place) {
		p.wantWritten("before", 4, 100)
		p.disk.Arm(powercut.Faults{SyncAt: 1})
		told := []string{"unknown"}
		if p.is("postgres") {
			told = []string{"", "unknown"} // it was asked again once the server had recovered
		}
		p.wantCodes("a write whose sync fails", p.write(1, 100, 0), told...)
		if failed := p.disk.Stats().Failed; failed != 1 {
			p.t.Errorf("%d syncs failed, want 1", failed)
		}
		switch {
		case p.is("file", "sqlite"):
			p.wantCodes("a write behind it", p.write(4, 100, 0), "read-only")
			p.wantSound("behind it")
			p.reopen()
		case !p.is("postgres"):
			p.revive()
		}
		p.wantWritten("afterwards", 4, 100)
		p.wantWritten("afterwards", 4, 100)
		p.wantSound("afterwards")
	})
}
