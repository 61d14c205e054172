package commit

import (
	"encoding/json"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// maxAnswers bounds the questions whose answers this process knows how to read.
const maxAnswers = 4096

// Answers read the values of decisions as the programs of this process will. A schema takes values
// that a type does not, such as 1e400. The oldest entry is dropped when there are 4,096: its
// answers are checked by the schema alone.
type Answers struct {
	mu    sync.Mutex
	read  map[posthouse.Hash]func(posthouse.Verdict, json.RawMessage) error
	order []posthouse.Hash
}

// Expect registers the reader of a question that this process asks. Thread, Task, Name, Text and
// Payload of g are set. read may run foreign code, must not panic, and is called without locks.
func (a *Answers) Expect(g *posthouse.Gate, read func(posthouse.Verdict, json.RawMessage) error) {
	key := answerKey(g)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.read == nil {
		a.read = map[posthouse.Hash]func(posthouse.Verdict, json.RawMessage) error{}
	}
	if a.read[key] == nil {
		if len(a.order) == maxAnswers {
			delete(a.read, a.order[0])
			a.order = a.order[1:]
		}
		a.order = append(a.order, key)
	}
	a.read[key] = read
}

// Check reads a decision's value as the program that asked will. It returns nil if that program's
// type is not known here.
func (a *Answers) Check(g *posthouse.Gate, d *posthouse.Decision) error {
	if len(d.Value) == 0 {
		return nil
	}
	a.mu.Lock()
	read := a.read[answerKey(g)]
	a.mu.Unlock()
	if read == nil {
		return nil
	}
	return read(d.Verdict, d.Value)
}

func answerKey(g *posthouse.Gate) posthouse.Hash {
	content := g.Content()
	return canon.Hash("posthouse/answer/1", []byte(g.Thread), []byte(g.Task), content[:])
}
