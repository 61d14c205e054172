package env

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/base/shortid"
	"github.com/posthouse/posthouse/server"
)

// nouns are the words of usage lines that stand for an id, and what it is the id of.
var nouns = map[string]string{
	"THREAD": "thread", "CHECKPOINT": "checkpoint", "A": "checkpoint", "B": "checkpoint", "GATE": "gate", "TASK": "task",
}

// IsID reports whether a word of a usage line stands for an id, or for one of several kinds.
func IsID(word string) bool { return len(kindsOf(word)) > 0 }

// kindsOf returns the kinds of ids that a word of a usage line stands for.
func kindsOf(word string) (kinds []string) {
	for noun := range strings.SplitSeq(strings.Trim(word, "[]"), "|") {
		if kind := nouns[noun]; kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// lookAt is how many of a list, the newest first, are compared with part of an id.
const lookAt = 3000

// A finder finds the ids that a command's arguments stand for.
type finder struct {
	env    *Env
	client *client.Client

	guess   bool // it takes parts of a thread's name
	onlyIDs bool // a thread's name stands for nothing of it

	found []Candidate
}

// FindThread returns the thread that the value of a filter stands for: a name, or part of an id.
func (e *Env) FindThread(ctx context.Context, c *client.Client, part string) (string, error) {
	if part == "" {
		return "", nil
	}
	return (&finder{env: e, client: c, guess: true}).find(ctx, []string{"thread"}, part)
}

// OneThread returns the one of some threads that part of an id stands for: part itself where no thread
// has it. It is for commands that ask no server.
func OneThread(part string, threads iter.Seq2[string, error]) (string, error) {
	short, ok := shortid.Read(part)
	if !ok || shortid.IsWhole(part) {
		return part, nil
	}
	f := finder{}
	for name, err := range threads {
		switch {
		case err != nil:
			return "", err
		case name == part:
			return part, nil
		case short.Matches(name):
			f.addName("thread", name, "")
		}
	}
	switch len(f.found) {
	case 0:
		return part, nil
	case 1:
		return f.found[0].ID, nil
	}
	return "", several(part, f.found)
}

// args returns the arguments with ids in the place of what stands for one. words are those
// of the usage line.
func (f *finder) args(ctx context.Context, words, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i := range min(len(args), len(words)) {
		kinds := kindsOf(words[i])
		if len(kinds) == 0 {
			continue
		}
		id, err := f.find(ctx, kinds, args[i])
		if err != nil {
			return nil, err
		}
		args[i] = id
	}
	return args, nil
}

// find returns the one id that arg stands for: arg itself where it is whole, or where
// nothing is found, for the server to say so.
func (f *finder) find(ctx context.Context, kinds []string, arg string) (string, error) {
	ofThread := slices.Contains(kinds, "thread")
	short, isShort := shortid.Read(arg)
	switch {
	case shortid.IsWhole(arg), strings.HasPrefix(arg, "apr_"), ofThread && shortid.EndsInID(arg):
		return arg, nil
	case ofThread && !f.guess && !short.Elided && !strings.Contains(arg, "#"):
		return arg, nil
	}
	f.found = nil
	if ofThread {
		err := f.get(ctx, client.ThreadPath(arg), nil, &posthouse.ThreadInfo{})
		if err == nil || unlessAbsent(err) != nil {
			return arg, err
		}
	} else if !f.onlyIDs {
		if err := f.byThread(ctx, kinds[0], arg); err != nil {
			return "", err
		}
	}
	if err := f.byEntry(ctx, kinds, arg); err != nil {
		return "", err
	}
	if isShort {
		if err := f.byPart(ctx, kinds, short); err != nil {
			return "", err
		}
	}
	switch len(f.found) {
	case 0:
		return arg, nil
	case 1:
		if f.env.Interactive && !f.env.Structured() {
			f.env.Note("%s is %s", arg, f.found[0])
		}
		return f.found[0].ID, nil
	}
	return "", several(arg, f.found)
}

// add notes a candidate, once.
func (f *finder) add(kind string, id posthouse.ID, about string) {
	f.addName(kind, string(id), about)
}

func (f *finder) addName(kind, id, about string) {
	if !slices.ContainsFunc(f.found, func(c Candidate) bool { return c.ID == id }) {
		f.found = append(f.found, Candidate{Kind: kind, ID: id, About: about})
	}
}

// byThread adds what a thread's name stands for: the head of its main branch, its open
// questions, or its tasks.
func (f *finder) byThread(ctx context.Context, kind, thread string) error {
	if posthouse.CheckThread("thread", thread) != nil {
		return nil
	}
	switch kind {
	case "checkpoint":
		var t posthouse.ThreadInfo
		err := f.get(ctx, client.ThreadPath(thread), nil, &t)
		if err != nil {
			return unlessAbsent(err)
		}
		if b, ok := t.Branch(""); ok {
			f.add(kind, b.Head, "head of "+thread)
		}
		return nil
	case "gate":
		return f.gates(ctx, Params("thread", thread), nil)
	}
	return f.tasks(ctx, Params("thread", thread), nil)
}

// byEntry adds what THREAD#N stands for: the checkpoint of that entry, or the gates it opened.
func (f *finder) byEntry(ctx context.Context, kinds []string, arg string) error {
	i := strings.LastIndexByte(arg, '#')
	if i < 1 || posthouse.CheckThread("thread", arg[:i]) != nil {
		return nil
	}
	n, err := strconv.ParseUint(arg[i+1:], 10, 63)
	if err != nil || n == 0 {
		return nil
	}
	var page []*server.LogEntry
	q := Params("limit", "1", "cursor", strconv.FormatUint(n-1, 10))
	if err := f.get(ctx, client.ThreadPath(arg[:i], "log"), q, &page); err != nil {
		return unlessAbsent(err)
	}
	if len(page) == 0 || page[0].Seq != n {
		return nil
	}
	for _, r := range page[0].Records {
		if r.Checkpoint != nil && slices.Contains(kinds, "checkpoint") {
			f.add("checkpoint", r.Checkpoint.ID, r.Checkpoint.Kind+" of "+r.Thread)
		}
		if g := r.Gate; g != nil && (slices.Contains(kinds, "gate") && !slices.Contains(kinds, "checkpoint") || slices.Contains(kinds, "task")) {
			f.add("gate", g.ID, g.Name+" of "+r.Thread)
		}
	}
	return nil
}

// byPart adds the ids that have a part.
func (f *finder) byPart(ctx context.Context, kinds []string, part shortid.Part) error {
	for _, kind := range kinds {
		var err error
		switch kind {
		case "thread":
			err = f.threads(ctx, part.Matches)
		case "task":
			err = f.tasks(ctx, nil, part.Matches)
		case "gate":
			err = f.gates(ctx, nil, part.Matches)
		}
		if err != nil {
			return err
		}
	}
	if len(kinds) == 1 && kinds[0] == "thread" {
		return nil
	}
	return f.checkpoints(ctx, kinds, part.Matches)
}

func (f *finder) threads(ctx context.Context, want func(string) bool) error {
	return look(ctx, f, "/api/threads", nil, func(t *posthouse.ThreadInfo) {
		if want(t.Thread) {
			f.addName("thread", t.Thread, t.Graph+" "+string(t.Status))
		}
	})
}

// checkpoints adds checkpoints, and gates and tasks that are over, by the checkpoints that
// opened them.
func (f *finder) checkpoints(ctx context.Context, kinds []string, want func(string) bool) error {
	return look(ctx, f, "/api/checkpoints", Params("state", "false"), func(h *posthouse.Header) {
		if slices.Contains(kinds, "checkpoint") && want(string(h.ID)) {
			f.add("checkpoint", h.ID, h.Kind+" of "+h.Thread)
		}
		if !slices.Contains(kinds, "gate") && !slices.Contains(kinds, "task") {
			return
		}
		for _, id := range h.Gates {
			if want(string(id)) {
				f.add("gate", id, "of "+h.Thread)
			}
		}
	})
}

// gates adds open gates that people are asked.
func (f *finder) gates(ctx context.Context, q url.Values, want func(string) bool) error {
	return look(ctx, f, "/api/gates", q, func(g *posthouse.Gate) {
		if want == nil || want(string(g.ID)) {
			f.add("gate", g.ID, g.Name+" of "+g.Thread)
		}
	})
}

// tasks adds open tasks, and those that failed for good.
func (f *finder) tasks(ctx context.Context, q url.Values, want func(string) bool) error {
	for _, failed := range []string{"", "true"} {
		query := Params("failed", failed)
		for name, values := range q {
			query[name] = values
		}
		err := look(ctx, f, "/api/tasks", query, func(t *server.Task) {
			if want == nil || want(string(t.ID)) {
				f.add("task", t.ID, t.Call.Task+" of "+t.Thread)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// look calls visit with the newest of a list, and says so if there are more.
func look[T any](ctx context.Context, f *finder, path string, q url.Values, visit func(T)) error {
	items, more, err := UpTo[T](ctx, f.client, path, q, lookAt)
	if err != nil {
		return unlessAbsent(err)
	}
	for _, item := range items {
		visit(item)
	}
	if more && !f.env.Structured() {
		f.env.Note("looked at the newest %s %s only", term.Number(lookAt), strings.TrimPrefix(path, "/api/"))
	}
	return nil
}

func (f *finder) get(ctx context.Context, path string, q url.Values, out any) error {
	return f.client.Get(ctx, path, q, out)
}

// unlessAbsent returns nil for a thing that is not there or that a token may not see: the
// command says so about what it was given.
func unlessAbsent(err error) error {
	for _, is := range []error{posthouse.ErrNotFound, posthouse.ErrForbidden, posthouse.ErrInvalid, posthouse.ErrUnsupported} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}
