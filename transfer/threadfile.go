package transfer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// The format of a thread file is in docs/format.md, section 10.
const (
	fileName  = "posthouse-thread/" // every version of the format begins with it
	fileMagic = fileName + "1\n"

	frameEnd   = 0
	frameSlot  = 1
	frameEntry = 2

	maxFrame     = 1 << 30 // bytes
	maxSlotValue = 1 << 20 // bytes, the limit of the Store's contract
	maxSlots     = 100_000 // of a thread
	maxHeader    = 8 << 20 // bytes: its lists take many times that in memory
)

// A ThreadFile describes the content of a thread file.
type ThreadFile struct {
	Thread      string             `json:"thread"`
	Entries     int                `json:"entries"`     // of the thread's log
	Checkpoints int                `json:"checkpoints"` // in its log, also removed ones
	Slots       int                `json:"slots"`       // of the thread's steps
	Bytes       int64              `json:"bytes"`       // of the file
	Tail        posthouse.Position `json:"tail"`

	Ended []posthouse.ID `json:"ended,omitempty"` // of an import: the approvals that license nothing any more
}

func badFile(format string, args ...any) *posthouse.Error {
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: "the thread file " + fmt.Sprintf(format, args...),
		Hint: "it is truncated or damaged: nothing was imported; export the thread again",
	}
}

type fileWriter struct {
	w   *bufio.Writer
	sum hash.Hash
	n   int64
	buf []byte
}

func newFileWriter(w io.Writer, thread string) (*fileWriter, error) {
	f := &fileWriter{w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	return f, f.write(canon.AppendString([]byte(fileMagic), thread))
}

func (f *fileWriter) write(b []byte) error {
	f.sum.Write(b)
	n, err := f.w.Write(b)
	f.n += int64(n)
	return err
}

func (f *fileWriter) frame(kind byte, payload []byte) error {
	if len(payload) > maxFrame {
		return posthouse.TooLarge("a frame of the file", len(payload), maxFrame)
	}
	head := canon.AppendUint([]byte{kind}, uint64(len(payload)))
	return errors.Join(f.write(head), f.write(payload))
}

func (f *fileWriter) slot(step string, s posthouse.Slot) error {
	b := canon.AppendUint(canon.AppendString(nil, step), s.Fence)
	return f.frame(frameSlot, canon.AppendBytes(b, s.Value))
}

func (f *fileWriter) entry(e *posthouse.Entry) error {
	b := canon.AppendUint(canon.AppendUint(f.buf[:0], uint64(e.Generation)), e.Seq)
	b = append(b, e.Prev[:]...)
	b = canon.AppendBytes(b, e.Header)
	b = append(b, e.Hash[:]...)
	b = canon.AppendBytes(b, e.Sig)
	b = canon.AppendUint(b, uint64(len(e.Bodies)))
	for _, body := range e.Bodies {
		if len(body) == 0 {
			b = append(b, 0)
			continue
		}
		b = canon.AppendBytes(append(b, 1), body)
	}
	f.buf = b
	return f.frame(frameEntry, b)
}

func (f *fileWriter) writeEnd(t *ThreadFile) error {
	b := canon.AppendUint(canon.AppendUint(nil, uint64(t.Slots)), uint64(t.Entries))
	if err := f.frame(frameEnd, b); err != nil {
		return err
	}
	if err := f.write(f.sum.Sum(nil)); err != nil {
		return err
	}
	t.Bytes = f.n
	return f.w.Flush()
}

// A fileReader reads a thread file, frame by frame. Its results are valid until the next
// call.
type fileReader struct {
	r      *bufio.Reader
	sum    hash.Hash
	n      int64
	thread string
	digest posthouse.Hash // of the whole file, set at its end

	slots, entries int
	step           string // of the slot read last
	buf            bytes.Buffer
}

func newFileReader(r io.Reader) (*fileReader, error) {
	f := &fileReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	magic, err := f.raw(len(fileMagic))
	switch text := string(magic); {
	case err != nil && strings.HasPrefix(fileMagic, text):
		return nil, err
	case text == fileMagic:
	case err == nil && strings.HasPrefix(text, fileName):
		return nil, &posthouse.Error{Code: posthouse.CodeNewer, Message: fmt.Sprintf("the thread file has the format %.40q", magic), Hint: "use the version of posthouse that wrote it"}
	default:
		return nil, posthouse.Invalid("file", "is no thread file")
	}
	name, err := f.bytes(posthouse.MaxID)
	if err != nil {
		return nil, err
	}
	f.thread = string(name)
	if err := posthouse.ValidateName("thread", f.thread); err != nil {
		return nil, badFile("names no thread: %v", err)
	}
	return f, nil
}

// ReadByte implements [io.ByteReader] for binary.ReadUvarint.
func (f *fileReader) ReadByte() (byte, error) {
	c, err := f.r.ReadByte()
	if err != nil {
		return 0, f.failed(err)
	}
	f.sum.Write([]byte{c})
	f.n++
	return c, nil
}

func (f *fileReader) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badFile("ends in the middle, after %d bytes", f.n)
	}
	return err
}

// raw reads n bytes. It allocates only for bytes that are there.
func (f *fileReader) raw(n int) ([]byte, error) {
	f.buf.Reset()
	got, err := io.CopyN(&f.buf, f.r, int64(n))
	f.n += got
	f.sum.Write(f.buf.Bytes())
	if err != nil {
		err = f.failed(err)
	}
	return f.buf.Bytes(), err
}

// bytes reads a length and that many bytes.
func (f *fileReader) bytes(limit uint64) ([]byte, error) {
	at := f.n
	n, err := binary.ReadUvarint(f)
	var e *posthouse.Error
	switch {
	case errors.As(err, &e):
		return nil, err
	case err != nil:
		return nil, badFile("has a bad length at byte %d", at)
	case n > limit:
		return nil, badFile("has a length of %d at byte %d", n, at)
	case len(canon.AppendUint(nil, n)) != int(f.n-at):
		return nil, badFile("has a length that is not minimal at byte %d", at)
	}
	return f.raw(int(n))
}

// next returns the next slot or entry, both nil at the end of the file.
func (f *fileReader) next() (*posthouse.SlotItem, *posthouse.Entry, error) {
	at := f.n
	kind, err := f.ReadByte()
	if err != nil {
		return nil, nil, err
	}
	payload, err := f.bytes(maxFrame)
	if err != nil {
		return nil, nil, err
	}
	r := canon.NewReader(payload)
	var slot *posthouse.SlotItem
	var entry *posthouse.Entry
	switch {
	case kind == frameSlot && f.entries == 0:
		slot = f.readSlot(r)
		f.slots++
	case kind == frameEntry:
		entry = f.readEntry(r)
		f.entries++
	case kind == frameEnd:
		if r.Uint() != uint64(f.slots) || r.Uint() != uint64(f.entries) {
			r.Fail("it counts other slots and entries than are there")
		}
	default:
		r.Fail("a frame of kind %d", kind)
	}
	if err := r.Done(); err != nil {
		return nil, nil, badFile("has a bad frame at byte %d: %v", at, err)
	}
	if kind == frameEnd {
		return nil, nil, f.readEnd()
	}
	return slot, entry, nil
}

func (f *fileReader) readSlot(r *canon.Reader) *posthouse.SlotItem {
	s := &posthouse.SlotItem{Key: posthouse.SlotKey{Thread: f.thread, Step: r.String()}}
	s.Fence, s.Value = r.Uint(), bytes.Clone(r.Bytes())
	if f.slots >= maxSlots {
		r.Fail("more than %d slots", maxSlots)
	}
	if f.slots > 0 && s.Key.Step <= f.step || s.Key.Step == "" || len(s.Value) > maxSlotValue {
		r.Fail("a slot out of order, without a name or too large")
	}
	f.step = s.Key.Step
	return s
}

func (f *fileReader) readEntry(r *canon.Reader) *posthouse.Entry {
	generation := r.Uint()
	if generation > 1<<32-1 {
		r.Fail("generation %d", generation)
	}
	e := &posthouse.Entry{Thread: f.thread, Generation: uint32(generation), Seq: r.Uint()}
	copy(e.Prev[:], r.Raw(32))
	e.Header = bytes.Clone(r.Bytes())
	copy(e.Hash[:], r.Raw(32))
	if sig := r.Bytes(); len(sig) > 0 {
		e.Sig = bytes.Clone(sig)
	}
	e.Bodies = [][]byte{}
	n := r.Count()
	if n > posthouse.MaxRecords || len(e.Header) > maxHeader {
		r.Fail("an entry with %d bodies and a header of %d bytes", n, len(e.Header))
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		switch r.Byte() {
		case 0:
			e.Bodies = append(e.Bodies, nil)
		case 1:
			body := bytes.Clone(r.Bytes())
			if len(body) == 0 {
				r.Fail("a body of no bytes")
			}
			e.Bodies = append(e.Bodies, body)
		default:
			r.Fail("a body that is neither there nor absent")
		}
	}
	return e
}

// readEnd checks the sum after the last frame, and that nothing follows it.
func (f *fileReader) readEnd() error {
	want := f.sum.Sum(nil)
	have, err := f.raw(len(want))
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return badFile("does not have the sum it ends with")
	}
	if _, err := f.r.ReadByte(); !errors.Is(err, io.EOF) {
		return badFile("goes on behind its end")
	}
	f.digest = posthouse.Hash(want)
	return nil
}
