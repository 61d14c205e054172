package filestore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
)

// The names in a store's directory.
const (
	lockName    = "LOCK"    // taken by the process that writes
	readingName = "READING" // taken by one that reads all of the store
	formatName  = "format"
	journalDir  = "journal"
	threadsDir  = "threads"
	slotsName   = "slots.log"
	logSuffix   = ".log"
	freshSuffix = ".new" // of a file that is renamed once it is whole
)

// format is what the format file says. A later version has a higher number.
const (
	formatText = "posthouse files "
	version    = 1
)

// threadFile returns the name of a thread's log.
func threadFile(thread string) string {
	sum := sha256.Sum256([]byte(thread))
	name := hex.EncodeToString(sum[:])
	return threadsDir + "/" + name[:2] + "/" + name + logSuffix
}

func segmentFile(number uint64) string {
	return fmt.Sprintf("%s/%08d%s", journalDir, number, logSuffix)
}

// segmentNumber returns the number in the name of a segment.
func segmentNumber(name string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSuffix(name, logSuffix), 10, 64)
	return n, err == nil && segmentFile(n) == journalDir+"/"+name
}

// A directory is that of a store, with the files in it.
type directory struct {
	path      string
	system    system
	opts      *Options
	lifecycle *lifecycle.State
}

// segments returns the numbers of the journal's segments, oldest first.
func (d *directory) segments() (numbers []uint64, err error) {
	names, err := d.system.List(journalDir)
	for _, name := range names {
		if n, ok := segmentNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// identify checks that the directory is a store of this version. New reports that it is
// empty.
func (d *directory) identify() (isNew bool, err error) {
	text, err := d.readFile(formatName)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := d.system.List(".")
		if err != nil {
			return false, fileError("read", d.path, err)
		}
		for _, name := range names {
			switch name {
			case lockName, readingName, formatName + freshSuffix, journalDir, threadsDir:
				continue
			}
			return false, &posthouse.Error{
				Code: posthouse.CodeCorrupt, Message: d.path + " is a directory with other files: it has no file named format",
				Hint: "choose an empty directory, or restore the store's from a backup",
			}
		}
		return true, d.noLogs()
	}
	if err != nil {
		return false, fileError("read", d.path+"/"+formatName, err)
	}
	number, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), formatText)
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n < 1 || string(text) != fmt.Sprintf("%s%d\n", formatText, n):
		return false, d.corrupt(formatName, errors.New("it says no format"))
	case n > version:
		return false, &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the store %s has format %d; this program knows formats up to %d", d.path, n, version),
			Hint: "use the version of posthouse that wrote it, or a newer one; nothing was changed",
		}
	}
	return false, nil
}

// noLogs refuses a store that lost its format file.
func (d *directory) noLogs() error {
	for _, dir := range []string{journalDir, threadsDir} {
		names, err := d.system.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError("read", d.path+"/"+dir, err)
		}
		if dir == threadsDir && len(names) > 0 || len(names) > 1 {
			return d.corrupt(formatName, errors.New("it is missing"))
		}
	}
	return nil
}

// create makes the files of a new store. The format file is last, so that a
// directory of a process killed on the way is made again.
func (d *directory) create() error {
	for _, dir := range []string{journalDir, threadsDir} {
		if err := d.system.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fileError("create", d.path+"/"+dir, err)
		}
	}
	f, err := d.newSegment(1, 1, framelog.Digest{})
	if err == nil {
		err = cmp.Or(f.Close(), d.system.SyncDir("."))
	}
	if err == nil {
		err = d.replace(formatName, ".", func(f file) error {
			_, err := f.WriteAt(fmt.Appendf(nil, "%s%d\n", formatText, version), 0)
			return err
		})
	}
	if err != nil {
		return fileError("create a store in", d.path, err)
	}
	return nil
}

// replace writes a file under another name and renames it once it is durable.
func (d *directory) replace(name, dir string, write func(file) error) error {
	f, err := d.system.Create(name + freshSuffix)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = d.system.Rename(name+freshSuffix, name)
	}
	if err == nil {
		err = d.system.SyncDir(dir)
	}
	return err
}

// readFile returns the content of a small file.
func (d *directory) readFile(name string) ([]byte, error) {
	f, err := d.system.Open(name, false)
	if err != nil {
		return nil, err
	}
	b, err := readAll(f)
	return b, cmp.Or(err, f.Close())
}

func readAll(f file) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}
