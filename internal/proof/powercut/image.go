package powercut

import (
	"fmt"
	"os"
	"path/filepath"
)

// Import copies a directory of this machine to the top of the disk, with owners, under a
// name. It is durable there.
func (d *Disk) Import(dir, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.load(dir)
	if err != nil {
		return err
	}
	n.links = 1
	d.root.entries[name], d.root.names[name] = n, n
	return nil
}

func (d *Disk) load(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	uid, gid := owner(info)
	mode := uint32(info.Mode().Perm())
	switch {
	case info.IsDir():
		n := d.newNode(folder, mode, uid, gid)
		list, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			c, err := d.load(filepath.Join(path, e.Name()))
			if err != nil {
				return nil, err
			}
			c.links = 1
			n.entries[e.Name()], n.names[e.Name()] = c, c
		}
		return n, nil
	case info.Mode().IsRegular():
		n := d.newNode(file, mode, uid, gid)
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for i := 0; i*pieceSize < len(data); i++ {
			b := new(block)
			from := data[i*pieceSize:]
			copy(b[:], from[:min(len(from), pieceSize)])
			n.now.put(i, b, int64(len(data)))
		}
		n.synced = n.now.clone()
		return n, nil
	}
	return nil, fmt.Errorf("powercut: %s is neither a file nor a directory", path)
}

// Export copies what programs see on the disk to a directory, for whoever looks for the
// reason of a loss.
func (d *Disk) Export(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.save(dir)
}

func (n *node) save(path string) error {
	switch n.kind {
	case link:
		return os.Symlink(n.target, path)
	case file:
		data := make([]byte, n.now.size)
		n.now.read(data, 0)
		return os.WriteFile(path, data, 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for name, c := range n.entries {
		if err := c.save(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
