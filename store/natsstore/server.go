package natsstore

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

// An ownServer is a NATS server in this process. It listens on nothing, and keeps its
// files in a directory that no other process may use at the same time.
type ownServer struct {
	dir  string
	lock *filelock.Lock
	said *serverLog
	made bool // the directory has had a store

	mu     sync.Mutex
	server *server.Server // nil while it does not run
	life   *life
}

const (
	dirMode  = 0o700
	lockName = "lock"
	madeName = "posthouse" // says that the streams were made
)

// maxPayload of a server in this process: a slot fits, and the server warns above 8 MiB.
const maxPayload = 2 << 20

func startServer(dir string, o *Options) (own *ownServer, err error) {
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
	own = &ownServer{dir: dir, said: &serverLog{to: o.Logger}, life: newLife()}
	defer func() {
		if err != nil {
			own.stop()
		}
	}()
	if err := own.acquire(); err != nil {
		return own, err
	}
	_, err = os.Stat(filepath.Join(dir, madeName))
	own.made = err == nil
	if !own.made && o.ReadOnly {
		return own, posthouse.NotFound("store in the directory", dir)
	}
	return own, own.run(o, own.life)
}

// maxStore of a server in this process: its disk is the limit. By itself a server takes three
// quarters of the room that it finds when it starts, and no more when there is more.
const maxStore = 1 << 60

// run runs a server, for one life.
func (own *ownServer) run(o *Options, l *life) error {
	if !o.ReadOnly {
		if err := own.sweep(); err != nil {
			return err
		}
	}
	if err := own.noLeaps(); err != nil {
		return err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "posthouse", JetStream: true, StoreDir: own.dir, SyncAlways: !o.lazy, DontListen: true, NoSigs: true,
		MaxPayload: maxPayload, JetStreamMaxStore: maxStore,
	})
	if err != nil {
		return dirError("start a server in", own.dir, err)
	}
	own.mu.Lock()
	own.server = srv
	own.mu.Unlock()
	srv.SetLoggerV2(&lifeLog{own.said, func(line string) { l.hear(own.dir, line) }}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) || !srv.JetStreamEnabled() {
		e := &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: "the server in this process cannot use " + own.dir + own.said.last(), Hint: "look at the directory and its disk",
		}
		if full := l.failure(); full != nil && full.Code == posthouse.CodeFull {
			e.Code, e.Hint = posthouse.CodeFull, "make room on the disk and try again"
		}
		return e
	}
	return nil
}

// InProcessConn connects to the server that runs now.
func (own *ownServer) InProcessConn() (net.Conn, error) {
	own.mu.Lock()
	srv := own.server
	own.mu.Unlock()
	if srv == nil {
		return nil, nats.ErrNoServers
	}
	return srv.InProcessConn()
}

// now returns the life of the server that takes writes.
func (own *ownServer) now() *life {
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.life
}

// take has writes go to the server of another life.
func (own *ownServer) take(l *life) {
	own.mu.Lock()
	defer own.mu.Unlock()
	own.life = l
}

// again starts the server again. It takes no writes before [ownServer.take].
func (own *ownServer) again(o *Options) (*life, error) {
	own.halt()
	l := newLife()
	if err := own.run(o, l); err != nil {
		own.halt()
		return nil, err
	}
	return l, nil
}

// halt stops the server that runs, if one does.
func (own *ownServer) halt() {
	own.mu.Lock()
	srv := own.server
	own.server = nil
	own.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// acquire keeps other processes from the directory. The operating system gives the lock
// back when this process ends.
func (own *ownServer) acquire() error {
	name := filepath.Join(own.dir, lockName)
	f, err := filelock.Take(name)
	if errors.Is(err, filelock.ErrHeld) {
		return &posthouse.Error{
			Code:    posthouse.CodeLocked,
			Message: fmt.Sprintf("%s has the store %s open", filelock.Holder(name), own.dir),
			Hint:    "stop that process, talk to it over HTTP, or choose another data directory",
		}
	}
	if err == nil {
		own.lock = f
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
func (own *ownServer) sweep() error {
	const checksum = "meta.sum"
	streams, err := filepath.Glob(filepath.Join(own.dir, server.JetStreamStoreDir, "*", "streams", "*"))
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
		return dirError("clean up", own.dir, err)
	}
	return nil
}

// sync makes the names of all files and directories durable, which the server leaves to
// the file system, and then says that the streams are there.
func (own *ownServer) sync() (err error) {
	err = filepath.WalkDir(own.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = durable.Dirs{}.Sync(path)
		}
		return err
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(own.dir, madeName), []byte("a store in the streams of NATS\n"), 0o600)
	}
	if err == nil {
		err = durable.Dirs{}.Sync(own.dir)
	}
	if err != nil {
		return dirError("sync", own.dir, err)
	}
	own.made = true
	return nil
}

func (own *ownServer) stop() {
	own.halt()
	if own.lock != nil {
		_ = own.lock.Close()
		own.lock = nil
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
