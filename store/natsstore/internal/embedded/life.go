package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Life is one run of a server in this process, from its start until it is stopped.
type Life struct {
	mu      sync.Mutex
	err     *posthouse.Error // why there are no writes
	streams map[string]*mark
	any     *mark
}

// A mark is a context that ends when a write has failed.
type mark struct {
	context.Context
	end context.CancelFunc
}

func newMark() *mark {
	ctx, end := context.WithCancel(context.Background())
	return &mark{ctx, end}
}

func newLife() *Life { return &Life{streams: map[string]*mark{}, any: newMark()} }

// criticalLine is how a server says that a write of a stream has failed.
var criticalLine = regexp.MustCompile(`^Filestore \[([^\]]+)\] Critical write error: (.*)`)

// hear takes in what a server says about an error. It is called with locks of the server held.
func (l *Life) hear(dir, line string) {
	m := criticalLine.FindStringSubmatch(line)
	lacks := lacksRoom(line)
	if m == nil && !lacks {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m != nil && (!lacks || strings.HasPrefix(m[2], "sync ")): // what was written may be on the disk, or lost from it
		if l.err == nil || l.err.Code == posthouse.CodeFull {
			l.err = &posthouse.Error{
				Code: posthouse.CodeReadOnly, Message: "a write of the server in " + dir + " failed: " + m[2],
				Hint: "look at the disk, then open the store again and run posthouse verify",
			}
		}
	case l.err == nil:
		l.err = &posthouse.Error{
			Code: posthouse.CodeFull, Message: "there is no room on the disk of " + dir,
			Hint: "nothing was written; make room and try again: writes go on by themselves within seconds once 4 MiB are free",
		}
	}
	l.any.end()
	if m != nil {
		l.markOf(m[1]).end()
	}
}

// lacksRoom reports whether a text says that a disk, or a quota of it, is full.
func lacksRoom(text string) bool {
	return slices.ContainsFunc([]string{"no space left", "disk quota exceeded", "not enough space on the disk"}, func(s string) bool { return strings.Contains(text, s) })
}

// markOf returns the mark of a stream. Callers hold the lock.
func (l *Life) markOf(stream string) *mark {
	if l.streams[stream] == nil {
		l.streams[stream] = newMark()
	}
	return l.streams[stream]
}

// Failed returns a context that ends when a write of a stream has failed.
func (l *Life) Failed(stream string) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.markOf(stream)
}

// AnyFailed returns a context that ends when a write has failed.
func (l *Life) AnyFailed() context.Context { return l.any }

// Failure returns why there are no writes, or nil.
func (l *Life) Failure() *posthouse.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// probeSize is how much room there must be on a full disk before the server is started again:
// the largest write fits.
const probeSize = 4 << 20

const probeName = "room"

// HasRoom reports whether a file of probeSize fits on the disk.
func (s *Server) HasRoom() bool {
	path := filepath.Join(s.dir, probeName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path)) == nil
}
