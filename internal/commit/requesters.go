package commit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/requesters"
)

// asksFor reports whether the checkpoint's By is, or may be, a requester: of an input, or of a
// change that was not the program's own.
func (c *Commit) asksFor() bool {
	ch := c.plan.Checkpoint
	switch ch.Kind {
	case posthouse.KindInput:
		return true
	case posthouse.KindCancel, posthouse.KindRestartStep:
		return false
	}
	return ch.By != "" // a run's own checkpoint has one if it opens a request
}

// withoutRequesters returns a change without the part that names the requesters, and that part,
// nil if there is no such part. A part is encoded once in an entry: when all requesters are
// known.
func withoutRequesters(ch *posthouse.Change) (*posthouse.Change, *posthouse.Part) {
	i := slices.IndexFunc(ch.Program, func(p posthouse.Part) bool { return p.Name == posthouse.RequestersPart })
	if i < 0 {
		return ch, nil
	}
	rest, part := *ch, ch.Program[i]
	rest.Program = slices.Delete(slices.Clone(ch.Program), i, i+1)
	return &rest, &part
}

// known returns the requesters that the parts of the checkpoint name, as they are encoded so
// far. carried is their part that is not encoded yet, which may be nil.
func known(e *core.Encoder, carried *posthouse.Part) (list []posthouse.Requester, err error) {
	program := posthouse.State{}
	for _, name := range []string{posthouse.SenderPart, posthouse.RequestersPart} {
		i := e.Find(name)
		if i < 0 {
			continue
		}
		data, err := e.Value(&e.Parts[i])
		if err != nil {
			return nil, err
		}
		program[name] = posthouse.Value{Codec: "json", Data: data}
	}
	if carried != nil {
		program[posthouse.RequestersPart] = posthouse.Value{Codec: carried.Codec, Data: carried.Data}
	}
	return requesters.Read(program)
}

// withRequesters adds requesters that a list does not name.
func withRequesters(list, more []posthouse.Requester) []posthouse.Requester {
	for _, r := range more {
		if !slices.ContainsFunc(list, func(o posthouse.Requester) bool { return o.Name == r.Name && o.How == r.How }) {
			list = requesters.Add(list, r)
		}
	}
	return list
}

// knownBefore returns the requesters of what the checkpoint changes, before it is encoded: of
// its parent, of the revision or the head that it takes the place of, and who imported what a new
// branch begins at.
func (c *Commit) knownBefore(old *posthouse.Header, base *core.Head) ([]posthouse.Requester, error) {
	tx := c.tx
	list, err := known(&tx.Enc, nil)
	if err != nil {
		return nil, err
	}
	add := func(at *posthouse.Header, how string) error {
		was, err := tx.Core.Logs.Reader(tx.Ctx, c.plan.Thread).Rebuild(at.Seq)
		if err != nil {
			return err
		}
		more, err := requesters.Read(was.State)
		for _, r := range more {
			if how == "" || r.How == how {
				list = requesters.Add(list, r)
			}
		}
		return err
	}
	switch {
	case old != nil:
		err = add(old, "")
	case c.replacesHead():
		head, headErr := tx.HeadOf(c.plan.Branch)
		if headErr != nil {
			return nil, headErr
		}
		err = add(&head.Header, "")
	case base != nil && !c.exists:
		from, ok := tx.Thread.Info.Branch(base.Branch)
		if !ok || from.Head == base.ID {
			break
		}
		head, headErr := tx.HeadOf(base.Branch)
		if headErr != nil {
			return nil, headErr
		}
		err = add(&head.Header, posthouse.RequestedByImport)
	}
	return list, err
}

// replacesHead reports whether the checkpoint is a root by hand, which takes the head's place.
func (c *Commit) replacesHead() bool {
	return c.plan.ByHand && c.plan.Checkpoint.Root && c.exists
}

// noteRequesters adds to the checkpoint's requesters whoever changed what it holds. It runs
// after the change was encoded; before is what [known] was then, and carried the part of it that
// was left out.
func (c *Commit) noteRequesters(before []posthouse.Requester, carried *posthouse.Part) error {
	tx, ch := c.tx, c.plan.Checkpoint
	list, at := before, posthouse.ToMillis(tx.At)
	add := func(r posthouse.Requester) {
		r.At = at
		list = requesters.Add(list, r)
	}
	now, err := known(&tx.Enc, carried)
	if err != nil {
		return err
	}
	for _, r := range now { // a sender that came with the input, or a fork's program
		if !slices.ContainsFunc(list, func(o posthouse.Requester) bool { return o.Name == r.Name && o.How == r.How }) {
			if r.At.IsZero() {
				r.At = at
			}
			list = requesters.Add(list, r)
		}
	}
	kind := ch.Kind
	what, changed := c.changed(kind)
	if changed {
		for _, r := range c.plan.behalf {
			list = requesters.Add(list, r)
		}
	}
	if ch.By != "" && c.asksFor() && changed {
		if c.plan.Claim != nil && (kind == posthouse.KindEvent || kind == posthouse.KindWait || kind == posthouse.KindNode) {
			kind, what = posthouse.KindInput, nil
		}
		add(posthouse.Requester{Name: ch.By, How: kind, What: what})
	}
	for _, r := range ch.Requesters {
		add(r)
	}
	if len(list) > posthouse.MaxRequesters {
		return &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "requesters", Message: "of branch " + c.plan.Branch + " would be " + strconv.Itoa(len(list)) + "; the limit is " + strconv.Itoa(posthouse.MaxRequesters),
			Hint: "release the thread, which begins a new generation, or go on in another thread",
		}
	}
	if carried == nil && slices.EqualFunc(list, now, func(a, b posthouse.Requester) bool {
		return a.Name == b.Name && a.How == b.How && slices.Equal(a.What, b.What)
	}) {
		return nil // the parts say so already
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return tx.Enc.Set(posthouse.RequestersPart, posthouse.Value{Codec: "json", Data: data})
}

// changed returns the parts that a checkpoint by hand changed, by their names in the state, and
// whether it changed anything. An input always does; its parts are not named.
func (c *Commit) changed(kind string) (what []string, any bool) {
	if kind == posthouse.KindInput || kind == posthouse.KindEvent {
		return nil, true
	}
	if p := c.plan; p.Checkpoint.Root && kind == posthouse.KindFork { // a fork that begins a thread
		now := p.Checkpoint.State
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if was, ok := p.Recorded[name]; !ok || was.Codec != now[name].Codec || !bytes.Equal(was.Data, now[name].Data) {
				what = append(what, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.Recorded)) {
			if _, ok := now[name]; !ok {
				what = append(what, name)
			}
		}
		return what, len(what) > 0
	}
	for _, name := range c.tx.Enc.Changed() {
		switch {
		case name == posthouse.SenderPart, name == posthouse.RequestersPart, name == posthouse.SignalsPart, name == posthouse.TracePart:
			continue
		case name == posthouse.MetaPart:
			what = append(what, "metadata")
		case !strings.HasPrefix(name, "$"):
			what = append(what, name)
		}
		any = true
	}
	slices.Sort(what)
	return what, any
}

// addRequesters names all requesters of a new question in it. The checkpoint that opens it is
// encoded already.
func addRequesters(tx *core.Tx, p *Plan, g *posthouse.Gate) error {
	if tx.Next == nil || p.Copy || !g.AsksPeople() {
		return nil
	}
	list, err := known(&tx.Enc, nil)
	if err != nil {
		return err
	}
	if g.Record.Kept { // asked before, of the same: whoever imported that since is added
		list = slices.DeleteFunc(list, func(r posthouse.Requester) bool { return r.How != posthouse.RequestedByImport || g.Requests(r.Name) })
		if len(list) == 0 {
			return nil
		}
		if len(g.Requesters) == 0 && g.RequestedBy != "" {
			list = slices.Insert(list, 0, posthouse.Requester{Name: g.RequestedBy, How: posthouse.KindInput})
		}
	}
	list = withRequesters(list, g.Requesters)
	g.Requesters = list
	if len(list) == 1 && list[0].Name == g.RequestedBy && list[0].How == posthouse.KindInput {
		g.Requesters = nil
	}
	return nil
}
