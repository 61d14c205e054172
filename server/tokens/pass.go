package tokens

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// maxNames bounds the groups of a token, and its tasks.
const maxNames = 1000

// Pass returns what the token lets a worker take: tasks of no group and of its Groups, those
// that Tasks names, or of any name without them. An operator's allows any.
func (t *Token) Pass() *task.Pass {
	p := &task.Pass{Name: t.Name, Groups: t.Groups, Tasks: t.Tasks}
	if len(p.Tasks) == 0 {
		p.Tasks = []string{task.Any}
	}
	if t.Role == Operator {
		p.Groups, p.Tasks = []string{task.Any}, []string{task.Any}
	}
	return p
}

// Allow has a worker's token take tasks of other groups and names, in the place of those that
// it had. Its secret stays, and servers that run hold workers to it at once.
// [posthouse.ErrNotFound] for no such token, [posthouse.ErrInvalid] for one of another role, and
// for names that do not fit.
func (t *List) Allow(name string, groups, tasks []string) error {
	if err := cmp.Or(checkNames("group", groups), checkNames("task", tasks)); err != nil {
		return err
	}
	return t.change(func(f *document) error {
		i := slices.IndexFunc(f.Tokens, func(x Token) bool { return x.Name == name })
		if i < 0 {
			return notFound()
		}
		if f.Tokens[i].Role != Worker {
			return limitsOf(f.Tokens[i].Role)
		}
		f.Tokens[i].Groups, f.Tokens[i].Tasks = groups, tasks
		return nil
	})
}

func limitsOf(r Role) error {
	e := posthouse.Invalid("role", "is %s: only a worker's token names groups and tasks", r)
	e.Hint = "leave them out, or make a token of the role worker"
	return e
}

func checkNames(field string, all []string) error {
	if len(all) > maxNames {
		return posthouse.Invalid(field, "is given %d times; a token names at most %d", len(all), maxNames)
	}
	for _, name := range all {
		if err := posthouse.ValidateName(field, name); err != nil {
			return err
		}
	}
	return nil
}

// limited reports whether a token names groups or tasks.
func (t *Token) limited() bool { return len(t.Groups)+len(t.Tasks) > 0 }
