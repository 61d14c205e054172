package filestore

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/replay"
)

// readJournal indexes what the journal has. The end of the newest segment may be a commit
// that was never acknowledged: it is left out.
func (l *loaded) readJournal(numbers []uint64) error {
	for i, number := range numbers {
		name := segmentFile(number)
		if number != numbers[0]+uint64(i) {
			return l.dir.corrupt(journalDir, fmt.Errorf("it has segment %d and not %d", number, numbers[0]+uint64(i)))
		}
		b, err := l.dir.readFile(name)
		if err != nil {
			if l.dir.opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
				return errMoved
			}
			return err
		}
		newest := i == len(numbers)-1
		head, end, err := readSegment(b, number)
		if err == nil && head.First != l.last+1 {
			err = fmt.Errorf("it begins with commit %d, and the one before ends with %d", head.First, l.last)
		}
		if err != nil {
			if newest && i > 0 && isDamage(err) && !framelog.FindGroup(b, 0) {
				break // it was being made
			}
			return l.dir.corrupt(name, err)
		}
		g := &segment{number: number}
		l.segments = append(l.segments, g)
		g.end, err = l.replay(g, b, end)
		if err != nil {
			return l.dir.corrupt(name, err)
		}
		if g.end < int64(len(b)) && (!newest || framelog.FindGroup(b[g.end:], l.last+1)) {
			return l.dir.corrupt(name, &framelog.Damage{At: g.end, Why: "is damaged, and commits behind it were acknowledged"})
		}
	}
	return nil
}

// replay indexes the whole groups of a segment from an offset on, and returns where they
// end.
func (l *loaded) replay(g *segment, b []byte, at int64) (end int64, err error) {
	for at < int64(len(b)) {
		group, err := framelog.Parse(b[at:], true)
		if err != nil {
			return at, nil
		}
		first, err := framelog.ReadGroup(group.Head)
		if err == nil && first != l.last+1 {
			err = fmt.Errorf("commit %d follows commit %d", first, l.last)
		}
		for rest := group.Body; err == nil && len(rest) > 0; {
			var f framelog.Frame
			f, err = framelog.Parse(rest, true)
			if err == nil {
				err = l.replayFrame(g, rest[:f.Size():f.Size()], &f)
				rest = rest[f.Size():]
			}
		}
		if err != nil {
			return at, err
		}
		at += group.Size()
	}
	return at, nil
}

// replayFrame indexes one frame of a group.
func (l *loaded) replayFrame(g *segment, frame []byte, f *framelog.Frame) error {
	at := placeOf(frame, f.BodySize)
	switch kind := f.KindOf(); kind {
	case framelog.KindEntry:
		var e framelog.Entry
		if err := e.Read(f.Head); err != nil {
			return err
		}
		if e.Commit != l.last+1 {
			return fmt.Errorf("commit %d follows commit %d", e.Commit, l.last)
		}
		info := posthouse.ThreadInfo{}
		if have := l.index.Info(e.Entry.Thread); have != nil {
			info = *have
		}
		if err := replay.Follow(&info, &e); err != nil {
			return err
		}
		delete(l.torn, threadFile(e.Entry.Thread))
		if err := l.add(&e, at, &info); err != nil {
			return err
		}
		g.entries = append(g.entries, l.index.Entry(e.Entry.Thread, e.Entry.Seq))
	case framelog.KindSlot:
		var head framelog.Slot
		if err := head.Read(f.Head); err != nil {
			return err
		}
		if head.Commit != l.last+1 {
			return fmt.Errorf("commit %d follows commit %d", head.Commit, l.last)
		}
		delete(l.torn, slotsName)
		if kept, news := l.keepSlot(&head, at); news {
			if g.slots == nil {
				g.slots = map[posthouse.SlotKey]slot{}
			}
			g.slots[head.Key] = kept
		}
	case framelog.KindRemoval:
		var head framelog.Removal
		if err := head.Read(f.Head); err != nil {
			return err
		}
		if head.Commit != l.last+1 {
			return fmt.Errorf("commit %d follows commit %d", head.Commit, l.last)
		}
		l.last, g.removal = head.Commit, true
	default:
		return fmt.Errorf("a frame of kind %d is in a group", kind)
	}
	return nil
}
