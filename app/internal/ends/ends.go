package ends

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// Max is how many threads a file keeps the ends of.
const Max = 1000

const (
	pause   = time.Second // between two writes
	maxFile = 4 * Max     // lines of a file, before it is rewritten
	maxSize = 16 << 20    // bytes of a file that is read
)

// An End is the newest entry of a thread that a process saw acknowledged.
type End struct {
	Thread string         `json:"thread"`
	Seq    uint64         `json:"seq"` // 0: the thread is to be forgotten
	Link   posthouse.Hash `json:"link"`
}

// Load reads the ends of a file, oldest first. A file that is not there is empty. A line that cannot be
// read is passed over: a power cut may leave the beginning of one.
func Load(path string) ([]End, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all list
	for s := bufio.NewScanner(io.LimitReader(f, maxSize)); s.Scan(); {
		var e End
		if json.Unmarshal(s.Bytes(), &e) == nil && e.Thread != "" {
			all.add(e)
		}
	}
	return all.ends(), nil
}

// Missing returns the ends that a store does not have: its log of the thread is shorter, has another
// entry there, or is not there at all. A release or a removal, also by another process, leaves a record
// after the entries that it explains, so that such an end is not missing.
func Missing(ctx context.Context, s posthouse.Store, ends []End) (missing []End, err error) {
	for _, e := range ends {
		there, err := has(ctx, s, e)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, e)
		}
	}
	return missing, nil
}

func has(ctx context.Context, s posthouse.Store, end End) (bool, error) {
	tail := uint64(0)
	for t, err := range s.Threads(ctx, posthouse.ThreadQuery{Thread: end.Thread}) {
		if err != nil {
			return false, err
		}
		tail = t.Tail.Seq
	}
	if tail < end.Seq {
		return false, nil
	}
	for e, err := range s.Read(ctx, end.Thread, posthouse.Range{Seqs: []uint64{end.Seq}, Headers: true}) {
		switch {
		case errors.Is(err, posthouse.ErrNotFound):
			return true, nil
		case err != nil:
			return false, err
		}
		return e.Link() == end.Link, nil
	}
	return true, nil // its entries are gone, and what says so follows
}

// A list has one end for each thread, the newest threads last.
type list struct {
	of   map[string]End
	age  map[string]uint64 // by thread: when it moved last
	tick uint64
}

func (l *list) add(e End) {
	if l.of == nil {
		l.of, l.age = map[string]End{}, map[string]uint64{}
	}
	if e.Seq == 0 {
		delete(l.of, e.Thread)
		delete(l.age, e.Thread)
		return
	}
	l.tick++
	l.of[e.Thread], l.age[e.Thread] = e, l.tick
	if len(l.of) > 2*Max {
		for _, old := range l.sorted()[:Max/2] {
			delete(l.of, old.Thread)
			delete(l.age, old.Thread)
		}
	}
}

func (l *list) sorted() []End {
	all := make([]End, 0, len(l.of))
	for _, e := range l.of {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b End) int { return int(l.age[a.Thread]) - int(l.age[b.Thread]) })
	return all
}

func (l *list) ends() []End {
	all := l.sorted()
	return all[max(0, len(all)-Max):]
}

// A Log writes the ends of a process to a file.
type Log struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	known   list
	news    map[string]End // not in the file yet
	lines   int            // of the file
	waiting *time.Timer    // for the next write; nil without news
	closed  bool

	writing sync.Mutex
}

// Open begins a file with the ends that are known.
func Open(path string, have []End, log *slog.Logger) (*Log, error) {
	l := &Log{path: path, log: log, news: map[string]End{}}
	for _, e := range have {
		l.known.add(e)
	}
	return l, l.rewrite()
}

// Reached notes the end of a thread. Position 0 has the thread forgotten.
func (l *Log) Reached(thread string, end posthouse.Position, link posthouse.Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := End{thread, end.Seq, link}
	l.known.add(e)
	l.news[thread] = e
	if l.waiting == nil && !l.closed {
		l.waiting = time.AfterFunc(pause, l.flush)
	}
}

// flush writes what is new. An error is logged: the file is a hint.
func (l *Log) flush() {
	if err := l.write(); err != nil && l.log != nil {
		l.log.Warn("where threads ended was not noted: a store that is put back may go unnoticed", "file", l.path, "error", err)
	}
}

func (l *Log) write() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	var news []End // in the order in which the threads moved; first what is to be forgotten
	for _, e := range l.news {
		if e.Seq == 0 {
			news = append(news, e)
		}
	}
	for _, e := range l.known.sorted() {
		if _, is := l.news[e.Thread]; is {
			news = append(news, e)
		}
	}
	l.news, l.waiting = map[string]End{}, nil
	l.lines += len(news)
	full := l.lines > maxFile
	l.mu.Unlock()
	switch {
	case full:
		return l.rewrite()
	case len(news) == 0:
		return nil
	}
	var b bytes.Buffer
	for _, e := range news {
		if err := appendLine(&b, e); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// rewrite replaces the file by one with the newest ends.
func (l *Log) rewrite() error {
	l.mu.Lock()
	all := l.known.ends()
	l.lines = len(all)
	l.mu.Unlock()
	var b bytes.Buffer
	for _, e := range all {
		if err := appendLine(&b, e); err != nil {
			return err
		}
	}
	return secretfile.Replace(l.path, b.Bytes(), 0o600)
}

func appendLine(b *bytes.Buffer, e End) error {
	line, err := json.Marshal(e)
	if err == nil {
		b.Write(append(line, '\n'))
	}
	return err
}

// Close writes what is new.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	if l.waiting != nil {
		l.waiting.Stop()
	}
	l.mu.Unlock()
	return l.write()
}
