package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
	"github.com/posthouse/posthouse/internal/base/filelock"
)

// Options are the settings of a server.
type Options struct {
	ReadOnly bool // the directory must have a store, and is not changed
	Unsynced bool // writes are acknowledged before they are synced
	Logger   *slog.Logger
}

// A Server is a NATS server in this process.
type Server struct {
	opts Options
	dir  string
	lock *filelock.Lock
	said *serverLog
	made bool // the directory has had a store

	mu     sync.Mutex
	server *server.Server // nil while it does not run
	life   *Life
}

const (
	dirMode  = 0o700
	lockName = "lock"
	madeName = "posthouse" // says that the streams were made
)

// maxPayload of a server in this process: a slot fits, and the server warns above 8 MiB.
const maxPayload = 2 << 20

// Start starts a server in a directory, which it makes if it is missing.
func Start(dir string, o Options) (_ *Server, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, dirError("find", dir, err)
	}
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return nil, posthouse.Invalid("store", "%s is a file; name a directory", dir)
	case errors.Is(err, fs.ErrNotExist) && o.ReadOnly:
		return nil, posthouse.NotFound("store in the directory", dir)
	}
	if err := (durable.Dirs{}).MakeAll(dir, dirMode); err != nil {
		return nil, dirError("make the directory", dir, err)
	}
	s := &Server{opts: o, dir: dir, said: &serverLog{to: o.Logger}, life: newLife()}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if err := s.acquire(); err != nil {
		return nil, err
	}
	_, err = os.Stat(filepath.Join(dir, madeName))
	s.made = err == nil
	if !s.made && o.ReadOnly {
		return nil, posthouse.NotFound("store in the directory", dir)
	}
	if err := s.run(s.life); err != nil {
		return nil, err
	}
	return s, nil
}

// maxStore of a server in this process: its disk is the limit. By itself a server takes three
// quarters of the room that it finds when it starts, and no more when there is more.
const maxStore = 1 << 60

// run runs a server, for one life.
func (s *Server) run(l *Life) error {
	if !s.opts.ReadOnly {
		if err := s.sweep(); err != nil {
			return err
		}
	}
	if err := s.noLeaps(); err != nil {
		return err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "posthouse", JetStream: true, StoreDir: s.dir, SyncAlways: !s.opts.Unsynced, DontListen: true, NoSigs: true,
		MaxPayload: maxPayload, JetStreamMaxStore: maxStore,
	})
	if err != nil {
		return dirError("start a server in", s.dir, err)
	}
	s.mu.Lock()
	s.server = srv
	s.mu.Unlock()
	srv.SetLoggerV2(&lifeLog{s.said, func(line string) { l.hear(s.dir, line) }}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) || !srv.JetStreamEnabled() {
		e := &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: "the server in this process cannot use " + s.dir + s.said.last(), Hint: "look at the directory and its disk",
		}
		if full := l.Failure(); full != nil && full.Code == posthouse.CodeFull {
			e.Code, e.Hint = posthouse.CodeFull, "make room on the disk and try again"
		}
		return e
	}
	return nil
}

// Dir returns the directory, as an absolute path.
func (s *Server) Dir() string { return s.dir }

// Made reports whether the directory has had a store, see [Server.Sync].
func (s *Server) Made() bool { return s.made }

// Unmake says that the directory has no store any more.
func (s *Server) Unmake() error {
	if err := os.Remove(filepath.Join(s.dir, madeName)); err != nil {
		return dirError("drop the store in", s.dir, err)
	}
	return nil
}

// Said returns the newest lines of the server's log, for the end of a message.
func (s *Server) Said() string { return s.said.last() }

// InProcessConn connects to the server that runs now.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	srv := s.server
	s.mu.Unlock()
	if srv == nil {
		return nil, nats.ErrNoServers
	}
	return srv.InProcessConn()
}

// Life returns the life of the server that takes writes.
func (s *Server) Life() *Life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// Adopt has writes go to the server of another life.
func (s *Server) Adopt(l *Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = l
}

// Restart starts the server again. It takes no writes before [Server.Adopt].
func (s *Server) Restart() (*Life, error) {
	s.halt()
	l := newLife()
	if err := s.run(l); err != nil {
		s.halt()
		return nil, err
	}
	return l, nil
}

// halt stops the server that runs, if one does.
func (s *Server) halt() {
	s.mu.Lock()
	srv := s.server
	s.server = nil
	s.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// acquire keeps other processes from the directory. The operating system gives the lock
// back when this process ends.
func (s *Server) acquire() error {
	name := filepath.Join(s.dir, lockName)
	f, err := filelock.Take(name)
	if errors.Is(err, filelock.ErrHeld) {
		return &posthouse.Error{
			Code:    posthouse.CodeLocked,
			Message: fmt.Sprintf("%s has the store %s open", filelock.Holder(name), s.dir),
			Hint:    "stop that process, talk to it over HTTP, or choose another data directory",
		}
	}
	if err == nil {
		s.lock = f
		err = filelock.Name(f)
	}
	if err != nil {
		return dirError("lock", name, err)
	}
	return nil
}

// sweep removes streams that the server had only begun to make when the power went: with
// no checksum of their description, and no message. The server passes over such a stream,
// makes another in its place without the checksum, and passes over that at its next start.
func (s *Server) sweep() error {
	const checksum = "meta.sum"
	streams, err := filepath.Glob(filepath.Join(s.dir, server.JetStreamStoreDir, "*", "streams", "*"))
	for _, dir := range streams {
		if _, serr := os.Stat(filepath.Join(dir, checksum)); !errors.Is(serr, fs.ErrNotExist) {
			continue
		}
		blocks, _ := filepath.Glob(filepath.Join(dir, "msgs", "*.blk"))
		empty := !slices.ContainsFunc(blocks, func(path string) bool {
			info, err := os.Stat(path)
			return err != nil || info.Size() > 0
		})
		if empty {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return dirError("clean up", s.dir, err)
	}
	return nil
}

// Sync makes the names of all files and directories durable, which the server leaves to
// the file system, and then says that the streams are there.
func (s *Server) Sync() (err error) {
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = durable.Dirs{}.Sync(path)
		}
		return err
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, madeName), []byte("a store in the streams of NATS\n"), 0o600)
	}
	if err == nil {
		err = durable.Dirs{}.Sync(s.dir)
	}
	if err != nil {
		return dirError("sync", s.dir, err)
	}
	s.made = true
	return nil
}

// Stop stops the server and gives the directory back.
func (s *Server) Stop() {
	s.halt()
	if s.lock != nil {
		_ = s.lock.Close()
		s.lock = nil
	}
}

// dirError wraps an error about a directory before there is a store.
func dirError(doing, path string, err error) error {
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "store", Message: "cannot " + doing + " " + path, Err: err}
	if errors.Is(err, fs.ErrPermission) {
		e.Code, e.Hint = posthouse.CodeForbidden, "run as the user who owns it, or choose another data directory"
	}
	if lacksRoom(err.Error()) {
		e.Code, e.Field, e.Hint = posthouse.CodeFull, "", "make room on the disk and try again"
	}
	return e
}

// A serverLog passes on what a server warns about, and keeps it for errors.
type serverLog struct {
	to    *slog.Logger
	mu    sync.Mutex
	lines []string
}

func (l *serverLog) say(level slog.Level, format string, v ...any) string {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.to.Log(context.Background(), level, "posthouse: NATS in this process", "says", line)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > 8 {
		l.lines = l.lines[1:]
	}
	return line
}

// last returns the newest lines, for the end of a message.
func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return ""
	}
	return "; it says: " + strings.Join(l.lines, "; ")
}

// A lifeLog is the log of a server in one of its lives, which hears what it says of errors.
type lifeLog struct {
	*serverLog
	hears func(line string)
}

func (l *lifeLog) Noticef(string, ...any)         {}
func (l *lifeLog) Debugf(string, ...any)          {}
func (l *lifeLog) Tracef(string, ...any)          {}
func (l *lifeLog) Warnf(format string, v ...any)  { l.say(slog.LevelWarn, format, v...) }
func (l *lifeLog) Errorf(format string, v ...any) { l.hears(l.say(slog.LevelError, format, v...)) }
func (l *lifeLog) Fatalf(format string, v ...any) { l.hears(l.say(slog.LevelError, format, v...)) }
