package powercut

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mounted mounts a disk for a test, and returns the directory and what unmounts it.
func mounted(t *testing.T, d *Disk) (dir string, unmount func()) {
	t.Helper()
	dir = t.TempDir()
	m, err := d.Mount(dir)
	if err != nil && (!Available() || os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "") {
		t.Skipf("POWER CUTS ARE NOT TESTED, no disk can be mounted here: %v", err)
	}
	if err != nil {
		t.Fatalf("there is a /dev/fuse, and no disk can be mounted: %v", err)
	}
	var done bool
	unmount = func() {
		t.Helper()
		if done {
			return
		}
		done = true
		if err := m.Unmount(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(unmount)
	return dir, unmount
}
