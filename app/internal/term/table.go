package term

import (
	"fmt"
	"regexp"
	"strings"
)

// Table prints rows under headings, columns aligned, cells on one line each.
// The last column is not padded. Without rows it prints nothing. On a terminal, ids are shortened in
// the middle, and the widest columns are clipped until a row fits.
func (t *Term) Table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for _, row := range rows {
		for i := range row {
			row[i] = Visible(row[i])
		}
	}
	width := widths(head, rows)
	if t.Columns > 0 {
		rigid := shortenIDs(head, rows)
		width = widths(head, rows)
		fit(width, rigid, t.Columns)
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, c := range cells {
			c = Clip(c, width[i])
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-Width(c)+gap))
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	h := line(head)
	if t.Color {
		h = "\x1b[" + Quiet + "m" + h + "\x1b[0m"
	}
	fmt.Fprintln(t.Out, h)
	for _, row := range rows {
		fmt.Fprintln(t.Out, line(row))
	}
}

const (
	gap       = 2 // columns between cells
	leastCell = 8 // a column is not clipped to less
)

// widths returns how wide each column is.
func widths(head []string, rows [][]string) []int {
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = Width(h)
		for _, row := range rows {
			width[i] = max(width[i], Width(row[i]))
		}
	}
	return width
}

// fit takes columns of the terminal from the widest of the table until a row fits, or no column that
// may be clipped is wide.
func fit(width []int, rigid []bool, columns int) {
	total := gap * (len(width) - 1)
	for _, w := range width {
		total += w
	}
	for ; total > columns; total-- {
		widest := -1
		for i, w := range width {
			if !rigid[i] && w > leastCell && (widest < 0 || w > width[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		width[widest]--
	}
}

// id matches an id as it is made, with what may stand before it.
var id = regexp.MustCompile(`^([a-z]+[-_])?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f]{12})$`)

// shortenIDs shortens ids in the middle, as in 01a2…667e, which every command takes. It reports which
// columns have some. Ids that differ are different when they are short.
func shortenIDs(head []string, rows [][]string) []bool {
	has := make([]bool, len(head))
	for i := range head {
		ids := map[string]bool{}
		for _, row := range rows {
			if id.MatchString(row[i]) {
				ids[row[i]] = true
			}
		}
		ends := endings(ids)
		for _, row := range rows {
			if ids[row[i]] {
				row[i] = shortID(row[i], ends)
				has[i] = true
			}
		}
	}
	return has
}

// leastEnding is the fewest characters of an id that are shown of its end.
const leastEnding = 4

// endings returns how long endings must be to tell ids apart.
func endings(ids map[string]bool) int {
	n := leastEnding
	for ; n < 12; n++ {
		seen := map[string]bool{}
		for id := range ids {
			seen[shortID(id, n)] = true
		}
		if len(seen) == len(ids) {
			break
		}
	}
	return n
}

// shortID returns the beginning and n characters of the end of an id.
func shortID(full string, n int) string {
	prefix := id.FindStringSubmatch(full)[1]
	return full[:len(prefix)+leastEnding] + "…" + full[len(full)-n:]
}
