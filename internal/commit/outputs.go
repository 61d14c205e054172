package commit

import (
	"encoding/json"
	"reflect"
	"strconv"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// maxOutputs bounds the tasks with a type of output that this process knows.
const maxOutputs = 16384

// Outputs know the types that the programs of this process read of tasks. The output of a worker is
// compared with them before it is on record. The oldest entry is dropped when there are 16,384: the
// output of its task is compared when the program reads it.
type Outputs struct {
	mu    sync.Mutex
	types map[posthouse.Hash]Output
	order []posthouse.Hash
}

// An Output is what a program reads of a task.
type Output struct {
	Type  reflect.Type
	Extra bool // members that the type lacks are passed over
}

// Misfit says where and why an output does not fit, "" for one that fits.
func (o Output) Misfit(data []byte) string {
	path, reason := strictjson.FitExact(data, o.Type, o.Extra)
	switch {
	case reason == "":
		return ""
	case path == "":
		return "it " + reason
	}
	return path + " " + reason
}

// Expect registers what a program reads of a task. Thread, Task, Name and Occurrence of g are set.
func (o *Outputs) Expect(g *posthouse.Gate, as Output) {
	key := outputKey(g)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.types == nil {
		o.types = map[posthouse.Hash]Output{}
	}
	if _, known := o.types[key]; !known {
		if len(o.order) == maxOutputs {
			delete(o.types, o.order[0])
			o.order = o.order[1:]
		}
		o.order = append(o.order, key)
	}
	o.types[key] = as
}

// Check returns [posthouse.ErrInvalid], which names the member, for an output that the program of a
// task does not take, and why. It returns nil if that program's type is not known here.
func (o *Outputs) Check(g *posthouse.Gate, output json.RawMessage) (why string, err error) {
	o.mu.Lock()
	as, known := o.types[outputKey(g)]
	o.mu.Unlock()
	if !known {
		return "", nil
	}
	why = as.Misfit(output)
	if why == "" {
		return "", nil
	}
	return why, &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "output", Gate: g.ID, Message: "of task " + g.Call.Task + " does not fit what its program reads: " + why,
		Hint: "complete the task with " + strictjson.Describe(as.Type) + "; names are exact",
	}
}

func outputKey(g *posthouse.Gate) posthouse.Hash {
	return canon.Hash("posthouse/output/1", []byte(g.Thread), []byte(g.Task), []byte(g.Name), []byte(strconv.Itoa(int(g.Occurrence))))
}
