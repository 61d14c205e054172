package framelog_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/storetest"
)

// frames are one of each kind.
func frames(tb testing.TB) (batch *posthouse.Batch, all [][]byte) {
	tb.Helper()
	l := storetest.NewBuilder().Log("tea")
	batch = l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("none", nil), l.Step("s", []byte("result")))
	batch.Drop = []posthouse.ID{"gone"}
	entry, _ := framelog.AppendBatch(nil, batch)
	framelog.Number(entry, 7)
	thread := framelog.Thread{Name: "tea", Summary: []byte("summary")}
	slot := framelog.Slot{Commit: 8, Key: posthouse.SlotKey{Thread: "tea", Step: "s"}, Revision: 3, Fence: 4, There: true}
	segment := framelog.Segment{Number: 5, First: 7}
	segment.Before.Add(batch.Entry.Hash)
	removal := framelog.Removal{Commit: 9, Thread: "tea"}
	all = [][]byte{segment.Append(nil), thread.Append(nil), entry, slot.Append(nil, []byte("value")), removal.Append(nil)}
	return batch, append(all, framelog.AppendGroup(nil, 7, all[2:5]...))
}

func TestRoundTrip(t *testing.T) {
	batch, all := frames(t)
	file := bytes.Join(all, nil)
	var kinds []framelog.Kind
	scan := framelog.Scan(bytes.NewReader(file), 0, int64(len(file)), true)
	for {
		f, err := scan.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, f.KindOf())
		if f.KindOf() != framelog.KindEntry {
			continue
		}
		var e framelog.Entry
		if err := errors.Join(e.Read(f.Head), e.Fill(f.Body)); err != nil {
			t.Fatal(err)
		}
		if e.Commit != 7 || !reflect.DeepEqual(&e.Entry, batch.Entry) || !reflect.DeepEqual(e.Drop, batch.Drop) || e.IDs[0] != batch.IDs[0].ID {
			t.Errorf("got %+v, want %+v", e, batch.Entry)
		}
	}
	if want := []framelog.Kind{framelog.KindSegment, framelog.KindThread, framelog.KindEntry, framelog.KindSlot, framelog.KindRemoval, framelog.KindGroup}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds %v", kinds)
	}
}

// TestEveryByteCounts flips each byte of each frame, and cuts it everywhere: it is damage,
// and a group after the damage is found.
func TestEveryByteCounts(t *testing.T) {
	_, all := frames(t)
	group := all[len(all)-1]
	for _, whole := range all {
		for at := range whole {
			b := bytes.Clone(whole)
			b[at] ^= 4
			if _, err := framelog.Parse(b, true); !isDamage(err) {
				t.Errorf("byte %d: %v", at, err)
			}
			if _, err := framelog.Parse(whole[:at], true); !isDamage(err) {
				t.Errorf("cut at %d: %v", at, err)
			}
			if behind := append(b[:at:at], group...); !framelog.FindGroup(behind, 6) || framelog.FindGroup(behind, 7) {
				t.Errorf("the group behind byte %d", at)
			}
		}
	}
}

func isDamage(err error) bool {
	var d *framelog.Damage
	return errors.As(err, &d)
}

// FuzzScan reads what no store wrote: it ends, and nothing panics.
func FuzzScan(f *testing.F) {
	_, all := frames(f)
	for _, b := range all {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		framelog.FindGroup(b, 0)
		for _, bodies := range []bool{false, true} {
			for scan := framelog.Scan(bytes.NewReader(b), 0, int64(len(b)), bodies); ; {
				frame, err := scan.Next()
				if err != nil {
					break
				}
				read(&frame)
			}
		}
		for kind := range byte(8) { // heads that no checksum guards
			read(&framelog.Frame{Head: append([]byte{kind}, b...), Body: b})
		}
	})
}

func read(f *framelog.Frame) {
	var e framelog.Entry
	if e.Read(f.Head) == nil {
		_ = e.Fill(f.Body)
	}
	_ = new(framelog.Thread).Read(f.Head)
	_ = new(framelog.Slot).Read(f.Head)
	_ = new(framelog.Segment).Read(f.Head)
	_ = new(framelog.Removal).Read(f.Head)
	_, _ = framelog.ReadGroup(f.Head)
}
