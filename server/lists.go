package server

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// How many items a page of a list has, unless the client says it, and at the most.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Parameters that several resources take.
var (
	limitParam  = api.Param{Name: "limit", Kind: api.IntParam, Max: maxLimit, Def: "100", Help: "how many"}
	orderParam  = api.Param{Name: "order", Kind: api.EnumParam, Values: []string{"asc", "desc"}, Def: "desc", Help: "desc is newest first, so that what waits is always on the first page"}
	threadOrder = api.Param{Name: "order", Kind: api.EnumParam, Values: []string{"newest", "asc", "desc"}, Def: "newest", Help: "newest is the one with the newest entry first; asc is by name, desc by name from the last"}
	threadParam = api.Param{Name: "thread", Kind: api.NameParam, Help: "of this thread"}
	coordParam  = api.Param{Name: "coordination", Kind: api.NameParam, Help: "of this coordination, over all its threads"}
	stateParam  = api.Param{Name: "state", Kind: api.BoolParam, Def: "true", Help: "false leaves the states out"}
	reasonParam = api.Param{Name: "reason", Kind: api.TextParam, Help: "goes on record"}
	cursorParam = api.Param{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"}
	fieldsParam = api.FieldsParam()
)

// statusValues are the statuses that a filter takes.
var statusValues = []string{
	string(posthouse.StatusRunning), string(posthouse.StatusWaiting), string(posthouse.StatusReady), string(posthouse.StatusInterrupted),
	string(posthouse.StatusDone), string(posthouse.StatusFailed), string(posthouse.StatusCancelled),
}

// kindValues are the kinds of checkpoints that a filter takes.
var kindValues = []string{
	posthouse.KindSave, posthouse.KindInput, posthouse.KindNode, posthouse.KindWait, posthouse.KindUpdate, posthouse.KindFork, posthouse.KindFail,
	posthouse.KindEvent, posthouse.KindCancel, posthouse.KindInner, posthouse.KindMigrate, posthouse.KindRestartStep,
}

// unread logs why something cannot be read, and returns what a list says of it.
func unread(w http.ResponseWriter, err error) *problem.Details {
	api.NoteError(w, err)
	return problem.Of(err, w.Header().Get(problem.RequestIDHeader))
}

// failedAfter logs what failed after something was done, and returns what the answer says of it.
func failedAfter(w http.ResponseWriter, done string, err error) *problem.Details {
	p := unread(w, err)
	p.Detail = done + "; what came after that failed: " + p.Detail
	return p
}
