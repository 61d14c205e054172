package memindex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// A markRow is a thread under one of its marks.
type markRow struct {
	mark   string
	thread *thread
}

// byMark orders rows of one mark by activity, the newest at the end.
func byMark(a, b *markRow) int {
	return cmp.Or(strings.Compare(a.mark, b.mark), byActivity(a.thread, b.thread))
}

// remark updates the rows of a thread that has info next. moved says that its minute changes: then
// the rows leave, and come back with the new minute once info is the thread's. The caller calls
// what remark returns then.
func (ix *Index) remark(t *thread, info *posthouse.ThreadInfo, moved bool) (after func()) {
	same := t.marked && !moved && t.info.Status == info.Status && t.info.Graph == info.Graph && sameLabels(t.info.Labels, info.Labels)
	if same {
		return nil
	}
	ix.unmark(t)
	return func() {
		marks := lists.Marks(&t.info)
		was := t.marks
		t.marks = make([]*markRow, 0, len(marks))
		for _, mark := range marks {
			i := slices.IndexFunc(was, func(r *markRow) bool { return r.mark == mark })
			if i < 0 {
				t.marks = append(t.marks, &markRow{mark, t})
			} else {
				t.marks = append(t.marks, was[i])
			}
		}
		for _, r := range t.marks {
			ix.marks.add(r)
		}
		t.marked = true
	}
}

func (ix *Index) unmark(t *thread) {
	if !t.marked {
		return
	}
	for _, r := range t.marks {
		ix.marks.remove(r)
	}
	t.marked = false
}

// sameLabels compares two maps of labels. Most threads have no labels.
func sameLabels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || v != w {
			return false
		}
	}
	return true
}

// few returns the threads of the first set that has few, in the order of the query; nil if no set
// has.
func (ix *Index) few(q *posthouse.ThreadQuery) (found []*thread, ok bool, err error) {
	if _, err := lists.Follows(q, &posthouse.ThreadInfo{}); err != nil {
		return nil, false, err
	}
	for _, set := range lists.Sets(q) {
		if found, ok := ix.all(&set); ok {
			var places []lists.Place
			for i, t := range found {
				places = append(places, lists.Place{ID: int64(i), Name: t.info.Thread, Minute: t.info.Minute()})
			}
			places, err := lists.Order(q, places)
			sorted := make([]*thread, len(places))
			for i, p := range places {
				sorted[i] = found[p.ID]
			}
			return sorted, true, err
		}
	}
	return nil, false, nil
}

// all returns the threads of a set, false if there are more than a few.
func (ix *Index) all(set *lists.Set) (found []*thread, ok bool) {
	if set.Prefix != "" {
		for t := range ix.names.from(func(t *thread) bool { return t.info.Thread >= set.Prefix }, false).all() {
			if !strings.HasPrefix(t.info.Thread, set.Prefix) {
				break
			}
			found = append(found, t)
			if len(found) > lists.Few {
				return nil, false
			}
		}
	}
	for _, r := range set.Ranges {
		for row := range ix.marks.from(func(row *markRow) bool { return row.mark >= r.From }, false).all() {
			if row.mark >= r.To {
				break
			}
			found = append(found, row.thread)
			if len(found) > lists.Few {
				return nil, false
			}
		}
	}
	return found, true
}

// fewPage is a page of the threads that few returned.
func fewPage(q *posthouse.ThreadQuery, found []*thread, n int) (page []*posthouse.ThreadInfo, more bool) {
	for _, t := range found {
		if !q.Match(&t.info) {
			continue
		}
		page = append(page, CloneInfo(&t.info))
		if len(page) == n {
			q.After = t.info.Thread
			if q.ByActivity() {
				q.After = t.info.ActivityCursor()
			}
			return page, true
		}
	}
	return page, false
}

// walkMark walks the threads of one mark by activity.
func (ix *Index) walkMark(q *posthouse.ThreadQuery, mark string, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	end := &markRow{mark, &thread{}}
	below := func(r *markRow) bool { return r.mark <= mark }
	if q.After != "" {
		end.thread.info.Updated, end.thread.info.Thread, err = lists.ParseActivityCursor(q.After)
		if err != nil {
			return nil, false, err
		}
		below = func(r *markRow) bool { return byMark(r, end) < 0 }
	}
	looked := 0
	for r := range ix.marks.from(below, true).all() {
		if r.mark != mark {
			break
		}
		t := r.thread
		if q.Match(&t.info) {
			page = append(page, CloneInfo(&t.info))
		}
		if looked++; len(page) == n || looked == pageCandidates {
			q.After = t.info.ActivityCursor()
			return page, true, nil
		}
	}
	return page, false, nil
}
