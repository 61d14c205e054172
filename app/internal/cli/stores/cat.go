package stores

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/internal/framelog"
)

// Cat returns the command cat.
func Cat(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "cat FILE...",
		Short: "Print the frames of files of a file: store, a line each",
		Long: `Print the frames of a thread's log, of the journal or of the slots' log, as a
store at file:DIR keeps them. It changes nothing and takes no lock. With --json each line
is an object: where the frame is, what it is, and of an entry its thread, sequence
number, records by kind, ids and the bytes of its bodies. Damage ends the file with an
error that names the byte.`,
		Example: `  posthouse cat ./data/threads/ab/*.log
  posthouse cat ./data/journal/*.log --json`,
		RunE: func(_ *cobra.Command, names []string) error {
			for _, name := range names {
				f := frameFile{&e.Term, name}
				if err := f.printAll(); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// A catLine is one frame as cat prints it.
type catLine struct {
	File     string                 `json:"file"`
	At       int64                  `json:"at"` // byte
	Kind     string                 `json:"kind"`
	Bytes    int64                  `json:"bytes"` // of the frame
	Commit   uint64                 `json:"commit,omitempty"`
	Thread   string                 `json:"thread,omitempty"`
	Seq      uint64                 `json:"seq,omitempty"`
	Records  []posthouse.RecordKind `json:"records,omitempty"`
	IDs      []posthouse.ID         `json:"ids,omitempty"`
	Bodies   int                    `json:"bodies,omitempty"` // bytes
	Step     string                 `json:"step,omitempty"`   // of a slot
	Revision uint64                 `json:"revision,omitempty"`
	Segment  uint64                 `json:"segment,omitempty"`
	Hash     posthouse.Hash         `json:"hash,omitzero"`
	Deleted  bool                   `json:"deleted,omitempty"`
	Summary  bool                   `json:"summary,omitempty"` // the frame has the thread's summary
}

// A frameFile prints the frames of a file.
type frameFile struct {
	out  *term.Term
	name string
}

func (c *frameFile) printAll() (err error) {
	f, err := os.Open(c.name)
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeNotFound, Message: "cannot open " + c.name, Err: err, Hint: "give the path of a file that is there"}
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	scan := framelog.Scan(f, 0, info.Size(), true)
	for {
		frame, err := scan.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = c.printFrame(frame.At, &frame)
		}
		if err != nil {
			return damaged(c.name, err)
		}
	}
}

func damaged(name string, err error) error {
	var damage *framelog.Damage
	if !errors.As(err, &damage) && !errors.Is(err, posthouse.ErrCorrupt) {
		return err
	}
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: name + " is damaged, or no file of a store", Err: err,
		Hint: "the end of the newest file of a journal may be cut off: opening the store repairs that",
	}
}

// printFrame prints a frame, and those in it.
func (c *frameFile) printFrame(at int64, f *framelog.Frame) error {
	line := catLine{File: c.name, At: at, Bytes: f.Size()}
	var err error
	switch f.KindOf() {
	case framelog.KindThread:
		var t framelog.Thread
		err = t.Read(f.Head)
		line.Kind, line.Thread, line.Summary = "thread", t.Name, len(t.Summary) > 0
	case framelog.KindEntry:
		var e framelog.Entry
		err = e.Read(f.Head)
		line.Kind, line.Commit, line.Thread, line.Seq, line.IDs = "entry", e.Commit, e.Entry.Thread, e.Entry.Seq, e.IDs
		line.Bodies, line.Hash, line.Summary = f.BodySize, e.Entry.Hash, len(e.Summary) > 0
		if recs, rerr := e.Entry.Records(); err == nil && rerr == nil {
			for _, r := range recs {
				line.Records = append(line.Records, r.Kind)
			}
		}
	case framelog.KindSlot:
		var s framelog.Slot
		err = s.Read(f.Head)
		line.Kind, line.Commit, line.Thread, line.Step = "slot", s.Commit, s.Key.Thread, s.Key.Step
		line.Revision, line.Bodies, line.Deleted = s.Revision, f.BodySize, !s.There
	case framelog.KindSegment:
		var g framelog.Segment
		err = g.Read(f.Head)
		line.Kind, line.Segment, line.Commit = "segment", g.Number, g.First
	case framelog.KindRemoval:
		var m framelog.Removal
		err = m.Read(f.Head)
		line.Kind, line.Commit, line.Thread = "removal", m.Commit, m.Thread
	case framelog.KindGroup:
		return c.printGroup(at, f)
	default:
		err = posthouse.Corrupt("a frame of kind %d", f.KindOf())
	}
	if err != nil {
		return err
	}
	return c.printLine(&line)
}

// printGroup prints the frames of one commit.
func (c *frameFile) printGroup(at int64, f *framelog.Frame) error {
	first, err := framelog.ReadGroup(f.Head)
	if err == nil {
		err = c.printLine(&catLine{File: c.name, At: at, Bytes: f.Size(), Kind: "group", Commit: first})
	}
	at += framelog.HeaderSize + int64(len(f.Head))
	for rest := f.Body; err == nil && len(rest) > 0; {
		var inner framelog.Frame
		inner, err = framelog.Parse(rest, true)
		if err == nil {
			err = c.printFrame(at, &inner)
			at += inner.Size()
			rest = rest[inner.Size():]
		}
	}
	return err
}

func (c *frameFile) printLine(line *catLine) error {
	if c.out.Structured() {
		return c.out.EncodeOne(line)
	}
	var kinds []string
	for _, k := range line.Records {
		kinds = append(kinds, k.String())
	}
	what := map[bool]string{true: ", deleted"}[line.Deleted]
	switch line.Kind {
	case "entry":
		what = "entry " + strconv.FormatUint(line.Seq, 10) + " of " + line.Thread + ": " + strings.Join(kinds, ", ") + ", bodies of " + term.Size(int64(line.Bodies))
	case "slot":
		what = "slot " + line.Step + " of " + line.Thread + ", revision " + strconv.FormatUint(line.Revision, 10) + ", " + term.Size(int64(line.Bodies)) + what
	case "segment":
		what = "segment " + strconv.FormatUint(line.Segment, 10)
	case "group":
		what = "a commit"
	case "removal":
		what = "a removal from " + line.Thread + " begins"
	case "thread":
		what = "the log of " + line.Thread
	}
	c.out.Line("%s:%d  commit %d  %s  %s", line.File, line.At, line.Commit, term.Size(line.Bytes), what)
	return nil
}
