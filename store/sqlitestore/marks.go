package sqlitestore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A face is the part of a summary that a thread's marks depend on.
type face struct {
	status posthouse.Status
	graph  string
	labels map[string]string
}

func faceOf(info *posthouse.ThreadInfo) face { return face{info.Status, info.Graph, info.Labels} }

func (f *face) is(info *posthouse.ThreadInfo) bool {
	return f.status == info.Status && f.graph == info.Graph && maps.Equal(f.labels, info.Labels)
}

func (f *face) marks(name string) []string {
	return lists.Marks(&posthouse.ThreadInfo{Thread: name, Status: f.status, Graph: f.graph, Labels: f.labels})
}

// remark updates the rows of a thread's marks to its next summary. t.row has the minute that
// the rows have.
func (w *writer) remark(t *thread, info *posthouse.ThreadInfo) error {
	same := t.face.is(info)
	if same && t.marked && t.row.Minute == info.Minute() {
		return nil
	}
	next := faceOf(info)
	next.labels = maps.Clone(next.labels)
	marks := next.marks(info.Thread)
	if t.marked {
		moved := t.row.Minute != info.Minute()
		was := t.face.marks(info.Thread)
		if err := w.unmark(t, info.Thread, slices.DeleteFunc(slices.Clone(was), func(m string) bool { return !moved && slices.Contains(marks, m) })); err != nil {
			return err
		}
		if !moved {
			marks = slices.DeleteFunc(marks, func(m string) bool { return slices.Contains(was, m) })
		}
	}
	for _, m := range marks {
		if err := w.Run(qAddMark, []byte(m), int64(info.Minute()), info.Thread, t.id); err != nil {
			return err
		}
	}
	t.face, t.marked = next, true
	return nil
}

func (w *writer) unmark(t *thread, name string, marks []string) error {
	for _, m := range marks {
		if err := w.Run(qDropMark, []byte(m), int64(t.row.Minute), name); err != nil {
			return err
		}
	}
	return nil
}

// fillMarks completes the summaries that were written without labels, and writes the rows of
// the marks.
func fillMarks(ctx context.Context, c *db.Conn) error {
	var state []byte
	return eachSummary(ctx, c, func(s *layout.Summary) (err error) {
		if s.Info.Dated {
			if err := layout.Recall(c, s); err != nil {
				return err
			}
			state, err = layout.AppendState(state[:0], &s.Top, s.Info)
			if err != nil {
				return err
			}
			if err := c.Run(qSetTail, s.ID, s.Info.Tail.Seq, state, s.Seq); err != nil {
				return err
			}
		}
		f := faceOf(s.Info)
		for _, m := range f.marks(s.Info.Thread) {
			if err := c.Run(qAddMark, []byte(m), int64(s.Info.Minute()), s.Info.Thread, s.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// few finds the threads of the first set of the query that has few, in the order of the query. It
// returns false if no set has.
func (w *threadWalk) few(c *db.Conn) (bool, error) {
	for _, set := range lists.Sets(&w.ThreadQuery) {
		places, err := placesOf(c, &set)
		if err != nil {
			return false, err
		}
		if len(places) <= lists.Few {
			w.places, err = lists.Order(&w.ThreadQuery, places)
			return true, err
		}
	}
	return false, nil
}

// placesOf returns the rows of a set, at most one more than a few.
func placesOf(c *db.Conn, set *lists.Set) (places []lists.Place, err error) {
	add := func(prefix, sql string, args ...any) error {
		for stmt, err := range c.Rows(sql, args...) {
			if err != nil {
				return err
			}
			name := stmt.ColumnText(1)
			if len(places) > lists.Few || !strings.HasPrefix(name, prefix) {
				break
			}
			places = append(places, lists.Place{ID: stmt.ColumnInt64(0), Name: name, Minute: posthouse.Millis(stmt.ColumnInt64(2))})
		}
		return nil
	}
	if set.Prefix != "" {
		if err := add(set.Prefix, qNamed, set.Prefix, int64(lists.Few+1)); err != nil {
			return nil, err
		}
	}
	for _, r := range set.Ranges {
		if err := add("", qMarked, []byte(r.From), []byte(r.To), int64(lists.Few+1)); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// nextFew reads the summaries of the places that few found.
func (w *threadWalk) nextFew(c *db.Conn, p *db.Page[*posthouse.ThreadInfo]) (more bool, err error) {
	for i := range w.places {
		if p.Full() {
			w.places = w.places[i:]
			return true, nil
		}
		s, err := layout.SummaryAt(c, w.places[i].ID)
		err = cmp.Or(err, w.ctx.Err())
		if err != nil {
			return false, err
		}
		if s != nil && w.Match(s.Info) {
			p.Add(s.Info, 256)
		}
	}
	w.places = nil
	return false, nil
}
