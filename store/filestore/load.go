package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/replay"
)

// loaded is what the files of a store say.
type loaded struct {
	dir *directory
	state
	segments []*segment // oldest first, all of them open for nothing
	dirs     map[string]bool
	last     uint64 // commit

	// floor is the first commit of the journal. Entries from it on may not be whole in the
	// logs: they were being drained, and the journal has them.
	floor   uint64
	before  framelog.Digest  // of what the commits before it left
	torn    map[string]error // by file: the damage that a log ends with
	headers posthouse.HeaderReader
}

// load reads the logs and the journal. It fails with [errMoved] if another process drained
// a part of the journal during the read.
func (d *directory) load(ctx context.Context) (*loaded, error) {
	l := &loaded{dir: d, state: newState(), dirs: map[string]bool{}, torn: map[string]error{}}
	oldest, err := l.findFloor()
	if err != nil {
		return nil, err
	}
	if err := l.readLogs(ctx); err != nil {
		return nil, err
	}
	if err := l.readSlots(); err != nil {
		return nil, err
	}
	numbers, err := d.segments()
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 || oldest != numbers[0] {
		return nil, errMoved
	}
	newest, logs := l.last, l.digest
	l.last = l.floor - 1
	if err := l.readJournal(numbers); err != nil {
		return nil, err
	}
	for name, damage := range l.torn { // the journal does not have what is missing
		return nil, d.corrupt(name, damage)
	}
	removal := slices.ContainsFunc(l.segments, func(g *segment) bool { return g.removal })
	if logs != l.before && !removal {
		if d.opts.ReadOnly {
			return nil, errMoved // or one began during the read
		}
		return nil, d.lacking(logs, l.before)
	}
	if l.last < newest {
		return nil, d.corrupt(journalDir, fmt.Errorf("it ends at commit %d, and logs have commit %d", l.last, newest))
	}
	l.index.Sort()
	return l, nil
}

// lacking is the error for logs that do not have what the journal says they had.
func (d *directory) lacking(have, want framelog.Digest) error {
	return d.corrupt(threadsDir, fmt.Errorf("the logs have %d entries and slots, and not the %d that the journal says", have.Count, want.Count))
}

// errMoved says that another process drained the journal while it was read.
var errMoved = errors.New("the journal was drained meanwhile")

// findFloor reads where the journal begins, and returns its oldest segment.
func (l *loaded) findFloor() (oldest uint64, err error) {
	numbers, err := l.dir.segments()
	if err != nil {
		return 0, err
	}
	if len(numbers) == 0 {
		return 0, l.dir.corrupt(journalDir, errors.New("it has no segment"))
	}
	b, err := l.dir.readFile(segmentFile(numbers[0]))
	if err != nil {
		if l.dir.opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
			return 0, errMoved
		}
		return 0, err
	}
	head, _, err := readSegment(b, numbers[0])
	if err != nil {
		return 0, l.dir.corrupt(segmentFile(numbers[0]), err)
	}
	l.floor, l.before = head.First, head.Before
	return numbers[0], nil
}

// readSegment reads the first frame of a segment, and returns where the next one begins.
func readSegment(b []byte, number uint64) (head framelog.Segment, end int64, err error) {
	f, err := framelog.Parse(b, true)
	if err == nil {
		err = head.Read(f.Head)
	}
	if err == nil && (head.Number != number || head.First == 0) {
		err = fmt.Errorf("it is segment %d", head.Number)
	}
	return head, f.Size(), err
}

// readLogs reads the logs of all threads, and removes what a killed process had not
// renamed yet.
func (l *loaded) readLogs(ctx context.Context) error {
	dirs, err := l.dir.system.List(threadsDir)
	if err != nil {
		return err
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir = threadsDir + "/" + dir
		names, err := l.dir.system.List(dir)
		if err != nil {
			return err
		}
		l.dirs[dir] = true
		for _, name := range names {
			name = dir + "/" + name
			switch {
			case strings.HasSuffix(name, freshSuffix) && !l.dir.opts.ReadOnly:
				err = l.dir.system.Remove(name)
			case strings.HasSuffix(name, logSuffix):
				err = l.readLog(name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readLog reads the heads of a thread's log.
func (l *loaded) readLog(name string) error {
	f, err := l.dir.system.Open(name, false)
	if err != nil {
		if l.dir.opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
			return nil // removed since
		}
		return err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	scan := framelog.Scan(f, 0, size, false)
	frame, err := scan.Next()
	var head framelog.Thread
	if err == io.EOF || isDamage(err) {
		l.torn[name] = fmt.Errorf("it does not begin with a thread's name: %w", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := head.Read(frame.Head); err != nil || threadFile(head.Name) != name {
		return l.dir.corrupt(name, cmp.Or(err, fmt.Errorf("it is the log of thread %q", head.Name)))
	}
	info := posthouse.ThreadInfo{}
	if len(head.Summary) > 0 {
		if err := info.UnmarshalBinary(head.Summary); err != nil {
			return l.dir.corrupt(name, err)
		}
	}
	end, err := l.readEntries(name, scan, head.Name, &info)
	if err != nil {
		return l.dir.corrupt(name, err)
	}
	if info.Tail.Seq > 0 {
		l.index.Summarise(&info)
	}
	l.logs[head.Name] = &logFile{end: end}
	return nil
}

// readEntries indexes the entries of a log up to where the journal has them, and applies
// those that the summary does not have. It returns where it stopped.
func (l *loaded) readEntries(name string, scan *framelog.Scanner, thread string, info *posthouse.ThreadInfo) (int64, error) {
	base, seq, commit := info.Tail.Seq, uint64(0), uint64(0)
	for {
		frame, err := scan.Next()
		if err == io.EOF {
			return scan.At(), nil
		}
		if isDamage(err) {
			l.torn[name] = err
			return scan.At(), nil
		}
		var e framelog.Entry
		if err == nil {
			err = e.Read(frame.Head)
		}
		if err != nil {
			return 0, err
		}
		if e.Entry.Thread != thread || e.Entry.Seq <= seq || e.Commit <= commit {
			return 0, &framelog.Damage{At: frame.At, Why: "does not follow the one before"}
		}
		if e.Commit >= l.floor {
			l.last = max(l.last, e.Commit)
			return frame.At, nil
		}
		if e.Entry.Seq > base {
			if err := replay.Follow(info, &e); err != nil {
				return 0, err
			}
		}
		e.Entry.Thread, seq, commit = thread, e.Entry.Seq, e.Commit
		if err := l.add(&e, place{at: frame.At, head: uint32(len(frame.Head)), body: uint32(frame.BodySize)}, nil); err != nil {
			return 0, err
		}
	}
}

func isDamage(err error) bool {
	var damage *framelog.Damage
	return errors.As(err, &damage)
}

// add indexes an entry.
func (l *loaded) add(e *framelog.Entry, at place, info *posthouse.ThreadInfo) error {
	l.last = max(l.last, e.Commit)
	l.digest.Add(e.Entry.Hash)
	return replay.Add(l.index, &l.headers, e, at, info)
}

// readSlots reads the heads of the slots' log.
func (l *loaded) readSlots() error {
	f, err := l.dir.system.Open(slotsName, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	scan := framelog.Scan(f, 0, size, false)
	for {
		frame, err := scan.Next()
		if err == io.EOF {
			break
		}
		if isDamage(err) {
			l.torn[slotsName] = err
			break
		}
		var head framelog.Slot
		if err == nil {
			err = head.Read(frame.Head)
		}
		if err != nil {
			return l.dir.corrupt(slotsName, err)
		}
		if head.Commit >= l.floor {
			l.last = max(l.last, head.Commit)
			l.slotLog.end = frame.At
			return nil
		}
		if _, news := l.keepSlot(&head, place{at: frame.At, head: uint32(len(frame.Head)), body: uint32(frame.BodySize)}); !news {
			return l.dir.corrupt(slotsName, &framelog.Damage{At: frame.At, Why: "is there already"})
		}
	}
	l.slotLog.end = scan.At()
	return nil
}

// keepSlot keeps what a write made of a slot, unless a newer one is known.
func (l *loaded) keepSlot(head *framelog.Slot, at place) (kept slot, news bool) {
	l.last = max(l.last, head.Commit)
	if have := l.slots[head.Key]; have != nil && have.commit >= head.Commit {
		return slot{}, false
	}
	kept = slot{Slot: posthouse.Slot{Revision: head.Revision, Fence: head.Fence}, there: head.There, commit: head.Commit, place: at}
	if have := l.slots[head.Key]; have != nil {
		l.digest.Drop(have.hash(head.Key))
	}
	l.digest.Add(head.Hash())
	l.slots[head.Key] = &kept
	return kept, true
}
