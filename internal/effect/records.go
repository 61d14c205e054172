package effect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// The names of what an effect under a grant records within its step. The number of a record is
// that of the attempt, from 0; of RecordClaimed and RecordUndone it is that of their entry.
const (
	RecordBegins  = "$use"     // the attempt begins, or its function runs again after what it waited for
	RecordParks   = "$parked"  // the attempt waits for something; with an error, an earlier version's: it failed after parts of it had acted
	RecordOver    = "$over"    // the attempts up to this one are known not to have happened
	RecordUnknown = "$unknown" // the outcome of the attempt is unknown, and people are asked; its text is the error
	RecordClaimed = "$claim"   // a worker has a task of it
	RecordUndone  = "$undone"  // that worker says that nothing happened

	// RecordFailed is what earlier versions wrote in place of RecordOver. With the text of an error
	// it was said because the function returned one, which proves nothing: the attempt reads as
	// unknown. Without a text somebody had settled it.
	RecordFailed = "$failed"
)

// CodecFailed is the codec of the record that a call failed.
const CodecFailed = "posthouse-failed"

// RecordReply holds an output with which a worker completed a task, and which does not fit the type that
// the program reads. It says nothing of the effect but the worker's words. Its number is that of its entry.
const RecordReply = "$reply"

// IsRecord reports whether the last part of a step's name is that of a record of an effect.
func IsRecord(what string) bool {
	switch what {
	case RecordBegins, RecordParks, RecordOver, RecordUnknown, RecordClaimed, RecordUndone, RecordFailed:
		return true
	}
	return false
}

// sizeSettled is the size of a RecordFailed of a program without the text of an error.
const sizeSettled = len(`{"error":""}`)

// IsSettled reports whether a RecordFailed has no text of an error, as far as the size of its body
// tells. A sealed one does not, nor does one of a worker's handler.
func IsSettled(size int, sealed bool) bool { return !sealed && size == sizeSettled }

// KindOutcome is the kind of the question about an effect with an unknown outcome.
const KindOutcome = posthouse.GateOutcome

// OutcomeName is the name, within the effect, of the question about its first attempts, from 1.
func OutcomeName(attempt int) string {
	if attempt <= 1 {
		return KindOutcome
	}
	return KindOutcome + "-" + strconv.Itoa(attempt)
}

// outcomeOf returns the number of the newest attempt that a question is about, by the last part of
// its name. 0: it is no question about an outcome.
func outcomeOf(name string) int {
	name = name[strings.LastIndexByte(name, '>')+1:]
	if name == KindOutcome {
		return 1
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, KindOutcome+"-")); err == nil && n > 1 {
		return n
	}
	return 0
}

// A Mark is what a record of an attempt holds.
type Mark struct {
	Error string       `json:"error"` // what the function returned; "" if its end is not known
	Call  posthouse.ID `json:"call"`  // of RecordClaimed and RecordUndone: the task
	Gate  posthouse.ID `json:"gate"`  // and the gate of its attempt

	NotDone bool `json:"notDone"` // of RecordUndone: the worker said so
}

// ReadMark reads what a record holds. Of one that cannot be read, such as a sealed body without
// its key, all is empty and known is false.
func ReadMark(data []byte) (m Mark, known bool) {
	known = len(data) > 0 && json.Unmarshal(data, &m) == nil
	return m, known
}
