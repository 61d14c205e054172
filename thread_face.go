package posthouse

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// summaryFormat is the first byte of a summary with labels, notes and effects. Earlier versions
// wrote entryFormat.
const summaryFormat = 2

// A BegunEffect is an effect on the world that began and has no result on record: it runs, waits,
// or its outcome is unknown. The log tells which, from the entry on; see [ledger.EffectsAfter].
type BegunEffect struct {
	Key uint64 `json:"key"` // a hash of branch, execution and call
	Seq uint64 `json:"seq"` // of the entry in which it began
}

// The last parts of the names of what a step under a grant records, after [ThreadInfo.Begun]'s call.
const (
	effectBegins = ">$use"
	effectFailed = ">$failed" // it did not act, as earlier versions said it
	effectOver   = ">$over"   // it is known not to have happened
)

// applyLabels takes the labels that a person or a caller gave. The acts of a program on the way have
// labels of its own.
func (t *ThreadInfo) applyLabels(c *Header) {
	given := c.Kind == KindInput || c.Kind == KindSave || c.Kind == KindUpdate || c.Kind == KindFork && len(t.Labels) == 0
	if given && len(c.Labels) > 0 {
		t.Labels = c.Labels // nothing changes a map of labels
	}
}

// applyStep notes where an effect begins, and that it ended.
func (t *ThreadInfo) applyStep(s *StepInfo, seq uint64) {
	if s.Grant == "" && s.Effect != EffectExternal {
		return
	}
	call, begins := strings.CutSuffix(s.Name, effectBegins)
	call, failed := strings.CutSuffix(call, effectFailed)
	call, over := strings.CutSuffix(call, effectOver)
	if !begins && !failed && !over {
		if len(t.Begun) == 0 {
			return
		}
		if s.Occurrence > 0 {
			call += "[" + strconv.FormatUint(uint64(s.Occurrence), 10) + "]"
		}
	}
	h := canon.Hash("posthouse/effect/1", []byte(s.Branch), []byte(s.Task), []byte(call))
	key := binary.BigEndian.Uint64(h[:])
	switch i := slices.IndexFunc(t.Begun, func(b BegunEffect) bool { return b.Key == key }); {
	case begins && i < 0:
		t.Begun = append(slices.Clip(t.Begun), BegunEffect{key, seq})
	case !begins && i >= 0:
		t.Begun = slices.Delete(slices.Clone(t.Begun), i, i+1)
	}
}

// Recall completes a summary that is [ThreadInfo.Dated], by the records of the generation's entries
// from First to Tail, in their order. The caller sets Dated to false after the last one.
func (t *ThreadInfo) Recall(seq uint64, records []Record) {
	for i := range records {
		t.face(&records[i], seq)
	}
}

func (t *ThreadInfo) face(r *Record, seq uint64) {
	switch {
	case r.Checkpoint != nil:
		t.applyLabels(r.Checkpoint)
	case r.Step != nil:
		t.applyStep(r.Step, seq)
	case r.Note != nil && r.Note.Line:
		t.Noted = seq
	}
}

// Has reports whether a search for text finds the thread: its name or a label's value begins with
// text, or its name ends with it and that has at least [MinEnding] bytes.
func (t *ThreadInfo) Has(text string) bool {
	if strings.HasPrefix(t.Thread, text) || len(text) >= MinEnding && strings.HasSuffix(t.Thread, text) {
		return true
	}
	for _, v := range t.Labels {
		if strings.HasPrefix(v, text) {
			return true
		}
	}
	return false
}

// faceFields are what summaries did not have before summaryFormat.
func (t *ThreadInfo) faceFields(f *fields) {
	f.TextMap(&t.Labels)
	f.Number(&t.Noted)
	canon.List(&f.Fields, &t.Begun, func(b *BegunEffect) {
		f.Number(&b.Key)
		f.Number(&b.Seq)
	})
}
