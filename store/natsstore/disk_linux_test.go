package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A smallDisk is a file system of 16 MiB.
type smallDisk struct {
	t   *testing.T
	dir string
}

func mountSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m")
	if err != nil && os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
		t.Skipf("A FULL DISK IS NOT TESTED, none can be mounted here: %v", err)
	}
	if err != nil {
		t.Fatalf("mount a small disk, which only root may: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &smallDisk{t, dir}
}

// fill leaves so many bytes of room at most.
func (d *smallDisk) fill(leave int64) {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(f, zeros{}, 16<<20); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("the disk is not full: %v", err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = f.Truncate(end - leave)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *smallDisk) empty() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
		d.t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// hears returns a logger, and a channel that gets a value for each line that has the text.
func hears(text string) (*slog.Logger, <-chan struct{}) {
	heard := make(chan struct{}, 64)
	return slog.New(listener{slog.DiscardHandler, text, heard}), heard
}

type listener struct {
	slog.Handler
	text  string
	heard chan<- struct{}
}

func (listener) Enabled(context.Context, slog.Level) bool { return true }
func (l listener) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, l.text) {
		l.heard <- struct{}{}
	}
	return nil
}

// TestFullDisk fills the disk of a server in this process, twice. Each write that finds
// no room fails as full, soon, and reads go on. Once there is room writes go on in the same
// open store, and nothing that was acknowledged is lost.
func TestFullDisk(t *testing.T) {
	const writers = 4
	small, large := []byte("more"), storetest.Filler(1<<20, "more")
	for what, value := range map[string][]byte{"small": small, "large": large} {
		t.Run(what, func(t *testing.T) {
			disk := mountSmallDisk(t)
			logger, roomy := hears("there is room again")
			url := "nats:" + filepath.Join(disk.dir, "store")
			s := openAt(t, url, &natsstore.Options{Logger: logger})
			b := storetest.NewBuilder()
			var logs []*storetest.Log
			for i := range writers {
				logs = append(logs, b.Log(fmt.Sprint("t", i)))
				servertest.Take(t, s, logs[i], logs[i].Checkpoint(posthouse.Header{}, "state"))
			}
			slot := func(value string) error {
				_, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "t0", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(value), Revision: posthouse.AnyRevision})
				return err
			}
			for round := range 2 {
				disk.fill(0)
				batches, errs := make([]*posthouse.Batch, writers), make([]error, writers)
				for range 2 { // at once, until each finds no room, and then on a disk that stays full
					var wg sync.WaitGroup
					for i, l := range logs {
						wg.Go(func() {
							for errs[i] = nil; errs[i] == nil; {
								batches[i] = l.Next(l.Step("s", value))
								begun := time.Now()
								errs[i] = s.Append(t.Context(), batches[i])
								if errs[i] == nil {
									l.Took(batches[i])
								}
								if took := time.Since(begun); took > 5*time.Second {
									t.Errorf("a write took %v", took)
								}
							}
						})
					}
					wg.Wait()
					for _, err := range errs {
						if !errors.Is(err, posthouse.ErrFull) {
							t.Errorf("a write: %v", err)
						}
					}
					if err := slot("full"); !errors.Is(err, posthouse.ErrFull) {
						t.Errorf("a slot: %v", err)
					}
					servertest.WantSound(t, s, "t1", int(logs[1].Info.Tail.Seq))
				}
				if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t1", All: true}); !errors.Is(err, posthouse.ErrFull) {
					t.Errorf("Remove: %v", err)
				}
				disk.empty()
				select {
				case <-roomy:
				case <-time.After(time.Minute):
					t.Fatal("writes do not go on")
				}
				for i, l := range logs {
					if err := s.Append(t.Context(), batches[i]); err != nil {
						t.Errorf("with room: %v", err)
					}
					l.Took(batches[i])
				}
				if err := slot(fmt.Sprint("round ", round)); err != nil {
					t.Errorf("a slot, with room: %v", err)
				}
			}
			for i, l := range logs {
				servertest.WantSound(t, s, fmt.Sprint("t", i), int(l.Info.Tail.Seq))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := openAt(t, url, nil)
			for i, l := range logs {
				servertest.WantSound(t, again, fmt.Sprint("t", i), int(l.Info.Tail.Seq))
			}
		})
	}
}

// TestOpenedOnAFullDisk opens a store on a disk that has hardly any room. When there is room it
// is all used.
func TestOpenedOnAFullDisk(t *testing.T) {
	disk := mountSmallDisk(t)
	url := "nats:" + filepath.Join(disk.dir, "store")
	l := storetest.NewBuilder().Log("a")
	s := openAt(t, url, nil)
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk.fill(400 << 10)
	s = openAt(t, url, nil)
	disk.empty()
	for range 4 {
		servertest.Take(t, s, l, l.Step("s", storetest.Filler(2<<20, "more")))
	}
	servertest.WantSound(t, s, "a", 5)
}
