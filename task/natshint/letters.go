package natshint

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
)

// Headers of dead letters.
const (
	kindHeader    = "Posthouse-Kind"
	subjectHeader = "Posthouse-Subject"
	reasonHeader  = "Posthouse-Reason"
	sizeHeader    = "Posthouse-Size"
)

const maxReason = 1000 // bytes

// Put implements [deadletter.Box].
func (q *Queue) Put(ctx context.Context, l deadletter.Letter) error {
	l.Cut()
	m := nats.NewMsg(q.prefix + ".dead")
	m.Data = l.Data
	m.Header.Set(kindHeader, string(l.Kind))
	m.Header.Set(subjectHeader, l.Subject)
	m.Header.Set(reasonHeader, oneLine(l.Reason))
	m.Header.Set(sizeHeader, strconv.Itoa(l.Size))
	_, err := q.js.PublishMsg(ctx, m, jetstream.WithExpectStream(q.dead()))
	return away("keep a dead letter", err)
}

// oneLine returns text as a header may have it.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), maxReason)], ""))
}

// Letters implements [deadletter.Box].
func (q *Queue) Letters(ctx context.Context, n int) ([]deadletter.Letter, error) {
	s, err := q.js.Stream(ctx, q.dead())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, away("read dead letters", err)
	}
	var all []deadletter.Letter
	state := s.CachedInfo().State
	for seq := state.LastSeq; seq >= max(state.FirstSeq, 1) && len(all) < n; seq-- {
		m, err := s.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // it was taken out
			continue
		}
		if err != nil {
			return nil, away("read a dead letter", err)
		}
		all = append(all, letterOf(m))
	}
	return all, nil
}

func letterOf(m *jetstream.RawStreamMsg) deadletter.Letter {
	size, err := strconv.Atoi(m.Header.Get(sizeHeader))
	if err != nil {
		size = len(m.Data)
	}
	return deadletter.Letter{
		ID: strconv.FormatUint(m.Sequence, 10), At: m.Time, Kind: cmp.Or(deadletter.Kind(m.Header.Get(kindHeader)), deadletter.Request),
		Subject: m.Header.Get(subjectHeader), Reason: m.Header.Get(reasonHeader), Size: size, Data: m.Data,
	}
}

// letter returns a letter, and the stream that it is in.
func (q *Queue) letter(ctx context.Context, id string) (l deadletter.Letter, s jetstream.Stream, seq uint64, err error) {
	seq, err = strconv.ParseUint(id, 10, 64)
	if err != nil || seq == 0 {
		return l, nil, 0, posthouse.NotFound("dead letter", id)
	}
	s, err = q.js.Stream(ctx, q.dead())
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = s.GetMsg(ctx, seq)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return l, nil, 0, posthouse.NotFound("dead letter", id)
	case err != nil:
		return l, nil, 0, away("read a dead letter", err)
	}
	return letterOf(m), s, seq, nil
}

// Replay implements [deadletter.Box].
func (q *Queue) Replay(ctx context.Context, id string) error {
	l, s, seq, err := q.letter(ctx, id)
	if err != nil {
		return err
	}
	if err := l.MayReplay(); err != nil {
		return err
	}
	if !strings.HasPrefix(l.Subject, q.prefix+".hint.") {
		return posthouse.Invalid("subject", "of letter %s is %.80q: that is not the queue's", id, l.Subject)
	}
	_, err = q.js.PublishMsg(ctx, &nats.Msg{Subject: l.Subject, Data: l.Data}, jetstream.WithExpectStream(q.hints()))
	if err != nil && !isThere(err) {
		return away("send a letter again", err)
	}
	return away("take a dead letter out", s.DeleteMsg(ctx, seq))
}

// Remove implements [deadletter.Box].
func (q *Queue) Remove(ctx context.Context, id string) error {
	_, s, seq, err := q.letter(ctx, id)
	if err != nil {
		return err
	}
	return away("take a dead letter out", s.DeleteMsg(ctx, seq))
}

// Purge implements [deadletter.Box].
func (q *Queue) Purge(ctx context.Context) (int, error) {
	s, err := q.js.Stream(ctx, q.dead())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, away("purge dead letters", err)
	}
	n := int(s.CachedInfo().State.Msgs)
	return n, away("purge dead letters", s.Purge(ctx))
}
