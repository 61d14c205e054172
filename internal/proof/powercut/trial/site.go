package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/posthouse/posthouse/internal/proof/powercut"
)

// A site is where one store is, from its creation until it is given up: a disk that loses
// what was not synced, or for kills a plain directory. Its server, if the store has one,
// has its data there, too.
type site struct {
	store   *Store
	arm     arm
	dir     string // of its own, for the mount or the data, and for the acknowledgements
	disk    *powercut.Disk
	mounted *powercut.Mounted
	service service
	url     string
	running bool // the service
	rounds  int  // that it has seen

	acknowledged int // in all rounds
}

// newSite makes a place for a store. A server has started there once, long ago: what its
// first start wrote is durable.
func newSite(p *Part, a arm, base string, number int) (_ *site, err error) {
	s := &site{store: p.Store, arm: a, dir: filepath.Join(base, fmt.Sprint("site-", number))}
	if err := os.MkdirAll(filepath.Join(s.dir, "disk"), 0o755); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := os.WriteFile(s.acks(), nil, 0o600); err != nil {
		return nil, err
	}
	if p.Harness == Power {
		s.disk = powercut.New(p.Model)
		if p.Store.inOrder {
			s.disk.KeepOrder()
		}
	}
	if p.Store.service != nil {
		s.service = p.Store.service()
		if err := s.install(base); err != nil {
			return nil, err
		}
	}
	if err := s.up(powercut.Faults{Lying: a.lying}); err != nil {
		return nil, err
	}
	if s.disk != nil && s.service != nil {
		s.disk.PersistAll()
	}
	return s, nil
}

// install puts the data of a new server in its place. It is made once for all sites.
func (s *site) install(base string) error {
	template := filepath.Join(base, "template-"+s.store.Name)
	if _, err := os.Stat(template); err != nil {
		if err := s.service.template(template); err != nil {
			return err
		}
	}
	if s.disk != nil {
		return s.disk.Import(template, "data")
	}
	return exec.Command("cp", "-a", template, s.data()).Run() // owners, too
}

func (s *site) acks() string { return filepath.Join(s.dir, "acknowledged") }
func (s *site) data() string { return filepath.Join(s.dir, "disk", "data") }

// up mounts the disk and starts the server, as far as they are down.
func (s *site) up(f powercut.Faults) (err error) {
	if s.disk != nil && s.mounted == nil {
		s.disk.Arm(f)
		s.mounted, err = s.disk.Mount(filepath.Join(s.dir, "disk"))
		if err != nil {
			return err
		}
	}
	if s.service == nil {
		s.url = s.store.url(s.data())
		return nil
	}
	if !s.running {
		s.url, err = s.service.start(s.data(), s.arm.weak)
		if err != nil {
			return err
		}
		s.running = true
	}
	return nil
}

// down ends the server and takes the disk from its directory.
func (s *site) down() error {
	if s.service != nil {
		s.service.kill()
		s.running = false
	}
	if s.mounted == nil {
		return nil
	}
	err := s.mounted.Unmount()
	s.mounted = nil
	return err
}

func (s *site) repairs() int {
	if s.service == nil {
		return 0
	}
	return s.service.repaired()
}

// isOff reports whether the power is gone.
func (s *site) isOff() bool { return s.disk != nil && s.disk.IsOff() }

// disturbed reports whether a fault of this round explains that a store does not open.
func (s *site) disturbed() bool { return s.broken() || s.disk != nil && s.disk.Stats().Full > 0 }

// broken reports whether a fault of this round explains that a store takes no more writes.
// A disk that was full does not.
func (s *site) broken() bool { return s.disk != nil && (s.disk.IsOff() || s.disk.Stats().Failed > 0) }

// note adds acknowledgements to those that later rounds check.
func (s *site) note(lines []ack) error {
	s.acknowledged += len(lines)
	f, err := os.OpenFile(s.acks(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	var text []byte
	for _, a := range lines {
		text = append(append(text, a.String()...), " .\n"...)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// keep copies the disk and the acknowledgements to a directory.
func (s *site) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	acks, err := os.ReadFile(s.acks())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "acknowledged"), acks, 0o600)
	}
	if s.disk != nil {
		return errors.Join(err, s.disk.Export(filepath.Join(dir, "disk")))
	}
	return errors.Join(err, os.CopyFS(filepath.Join(dir, "disk"), os.DirFS(filepath.Join(s.dir, "disk"))))
}

// close gives the site up.
func (s *site) close() {
	_ = s.down()
	if s.service != nil {
		s.service.close()
	}
	_ = os.RemoveAll(s.dir)
}
