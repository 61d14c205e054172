package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/store/storetest"
)

// heads appends to two threads and reads where they end.
type heads struct {
	*client
	b    *storetest.Builder
	last *storetest.Log   // as this client saw a thread, perhaps long ago
	lost *posthouse.Batch // of an append without an answer
}

func newHeads(c *client) player { return &heads{client: c, b: storetest.NewBuilder()} }

func (*heads) name() string { return "heads" }
func (*heads) close()       {}

func (h *heads) play() error {
	thread := fmt.Sprint("h", h.rnd.IntN(2))
	switch n := h.rnd.IntN(10); {
	case h.n == 0: // all begin with the same log, so that there is a conflict
		return h.append(h.b.Log("h0").Next(h.item()))
	case h.lost != nil && n < 5:
		b := h.lost
		h.lost = nil
		return h.append(b)
	case n < 2:
		return h.tail(thread)
	case n < 4:
		return h.log(thread, n == 2)
	case n < 5 && h.last != nil:
		return h.append(h.last.Next(h.item()))
	}
	info, err := h.info(thread)
	if err != nil {
		return skip(err)
	}
	h.last = h.b.Log(thread)
	if info != nil {
		h.last = h.b.Resume(info)
	}
	return h.append(h.last.Next(h.item()))
}

func (h *heads) audit() error {
	return errors.Join(h.tail("h0"), h.tail("h1"), h.log("h0", false), h.log("h1", true))
}

func skip(err error) error {
	if unknown(err) {
		return nil
	}
	return err
}

// item is a record that is never written twice.
func (h *heads) item() storetest.Item {
	return (&storetest.Log{}).Step("s", fmt.Appendf(nil, "%d.%d", h.number, h.n))
}

func (h *heads) append(b *posthouse.Batch) error {
	op := model.Op{Model: h.name(), Do: model.Append, Key: b.Entry.Thread, After: position(b.After), Next: position(b.Thread.Tail)}
	out, err := h.do(op, func() (out model.Answer, err error) {
		err = h.store.Append(h.ctx, b)
		var e *posthouse.Error
		if errors.As(err, &e) && e.Tail != nil {
			out.Tail = position(*e.Tail)
		}
		return out, err
	})
	if out.Code == model.Unknown {
		h.lost = b
	}
	return err
}

func (h *heads) info(thread string) (found *posthouse.ThreadInfo, err error) {
	for t, err := range h.store.Threads(h.ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return nil, err
		}
		found = t
	}
	return found, nil
}

// tail reads the end from the summary.
func (h *heads) tail(thread string) error {
	_, err := h.do(model.Op{Model: h.name(), Do: model.Tail, Key: thread}, func() (out model.Answer, err error) {
		info, err := h.info(thread)
		if info != nil {
			out.Tail = position(info.Tail)
		}
		return out, err
	})
	return err
}

// log reads all positions.
func (h *heads) log(thread string, reverse bool) error {
	_, err := h.do(model.Op{Model: h.name(), Do: model.Log, Key: thread}, func() (out model.Answer, err error) {
		for e, err := range h.store.Read(h.ctx, thread, posthouse.Range{Reverse: reverse, Headers: true}) {
			if err != nil {
				return out, err
			}
			at := " " + position(posthouse.Position{Seq: e.Seq, Hash: e.Hash})
			if reverse {
				out.Log = at + out.Log
			} else {
				out.Log += at
			}
		}
		if strings.Count(out.Log, " ") > 200 {
			return out, errors.New("the log is too long for a line")
		}
		return out, nil
	})
	return err
}
