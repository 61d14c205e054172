package posthouse

import (
	"cmp"
	"strconv"
	"strings"
)

// Minute returns the start of the minute of the thread's last entry. [ThreadQuery.Newest]
// orders by it, so that an index of threads changes once a minute and not with each entry.
func (t *ThreadInfo) Minute() Millis { return t.Updated - t.Updated%60000 }

// ActivityCursor returns the cursor behind this thread for [ThreadQuery.Newest].
func (t *ThreadInfo) ActivityCursor() string {
	return strconv.FormatInt(int64(t.Minute()), 10) + "." + t.Thread
}

// ParseActivityCursor reads what [ThreadInfo.ActivityCursor] made. It returns [ErrInvalid]
// for anything else.
func ParseActivityCursor(s string) (minute Millis, thread string, err error) {
	digits, thread, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || thread == "" || err != nil || n%60000 != 0 || strconv.FormatInt(n, 10) != digits {
		return 0, "", &Error{
			Code: CodeInvalid, Field: "after", Message: "is not a cursor of threads by activity",
			Hint: "use the ActivityCursor of the last thread, or leave it out",
		}
	}
	return Millis(n), thread, nil
}

// CompareActivity orders threads as [ThreadQuery.Newest] does: the one with the newer
// minute first, and within a minute the last name first.
func CompareActivity(a, b *ThreadInfo) int {
	return cmp.Or(cmp.Compare(b.Minute(), a.Minute()), strings.Compare(b.Thread, a.Thread))
}

// ByActivity reports whether the query is in the order of [ThreadQuery.Newest]. Gates and
// due times have orders of their own.
func (q *ThreadQuery) ByActivity() bool { return q.Newest && !q.Gates && q.DueBefore == 0 }

// Follows reports whether the thread follows the cursor, in the order of a query for
// threads. It returns [ErrInvalid] for a cursor of another order.
func (q *ThreadQuery) Follows(t *ThreadInfo) (bool, error) {
	if !q.ByActivity() || q.After == "" {
		return q.Behind(t.Thread), nil
	}
	minute, name, err := ParseActivityCursor(q.After)
	if err != nil {
		return false, err
	}
	at := ThreadInfo{Thread: name, Updated: minute}
	return CompareActivity(&at, t) < 0, nil
}
