package tokens

import "github.com/posthouse/posthouse/task"

// Pass returns what the token lets a worker take.
func (t *Token) Pass() *task.Pass {
	return &task.Pass{Name: t.Name, Groups: []string{task.Any}, Tasks: []string{task.Any}}
}
