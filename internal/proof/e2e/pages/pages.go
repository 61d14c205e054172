package pages

import (
	"fmt"
	"regexp"
)

var (
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	varying = regexp.MustCompile(`ed25519:[0-9a-f]{16}|[0-9a-f]{64}|\d{4}-\d\d-\d\d[T ][0-9:.]+Z?|\d+(\.\d+)? (KiB|B)\b|(PID +|kill -9 )\d+|code=once_\w+`)
	took    = regexp.MustCompile(`(?m)^took +\S+\n`) // it is left out below a millisecond
)

// Sketch returns a text with what differs from run to run taken out. Ids keep which of them are the same.
func Sketch(text string) string {
	names := map[string]string{}
	text = uuid.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("id-%d", len(names))
		}
		return names[id]
	})
	return varying.ReplaceAllString(took.ReplaceAllString(text, ""), "…")
}

// IDs has the ids of a page, each with that of this run.
type IDs map[string]string

// Translate puts this run's ids in the place of a command's. It fails with an id of which the page
// shows no command that said it.
func (ids IDs) Translate(cmd string) (here string, err error) {
	here = uuid.ReplaceAllStringFunc(cmd, func(id string) string {
		if ids[id] == "" {
			err = fmt.Errorf("%s is named before any command has said it", id)
		}
		return ids[id]
	})
	return here, err
}

// Learn pairs the ids of a page with those of this run, by their order. An id keeps the first that it
// was paired with.
func (ids IDs) Learn(page, run string) {
	theirs, ours := uuid.FindAllString(page, -1), uuid.FindAllString(run, -1)
	for i := range min(len(theirs), len(ours)) {
		if ids[theirs[i]] == "" {
			ids[theirs[i]] = ours[i]
		}
	}
}
