package lists

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// ParseActivityCursor reads what [posthouse.ThreadInfo.ActivityCursor] made. It returns
// [posthouse.ErrInvalid] for anything else.
func ParseActivityCursor(s string) (minute posthouse.Millis, thread string, err error) {
	digits, thread, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || thread == "" || err != nil || n%60000 != 0 || strconv.FormatInt(n, 10) != digits {
		return 0, "", &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "after", Message: "is not a cursor of threads by activity",
			Hint: "use the ActivityCursor of the last thread, or leave it out",
		}
	}
	return posthouse.Millis(n), thread, nil
}

// CompareActivity orders threads as [posthouse.ThreadQuery.Newest] does: the one with the newer
// minute first, and within a minute the last name first.
func CompareActivity(a, b *posthouse.ThreadInfo) int {
	return cmp.Or(cmp.Compare(b.Minute(), a.Minute()), strings.Compare(b.Thread, a.Thread))
}

// Follows reports whether the thread follows the cursor of a query for threads, in its order. It
// returns [posthouse.ErrInvalid] for a cursor of another order.
func Follows(q *posthouse.ThreadQuery, t *posthouse.ThreadInfo) (bool, error) {
	if !q.ByActivity() || q.After == "" {
		return q.Behind(t.Thread), nil
	}
	minute, name, err := ParseActivityCursor(q.After)
	if err != nil {
		return false, err
	}
	at := posthouse.ThreadInfo{Thread: name, Updated: minute}
	return CompareActivity(&at, t) < 0, nil
}
