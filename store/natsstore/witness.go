package natsstore

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/framelog"
)

// format is the number of the layout of streams and messages.
const format = 1

// A witness says, in another stream, what the log had at some message. A server that has
// dropped messages of the log, as it does after a flipped bit, cannot hide it: the log's
// end or its digest is another.
type witness struct {
	format uint64
	life   string
	seq    uint64 // the message
	digest framelog.Digest
	slots  [2]slotEnd // the buckets
}

// A slotEnd is how far a bucket is: its last message, and how many keys it has at least. Of
// a bucket that others write to, the number of keys is not known: 0.
type slotEnd struct{ last, keys uint64 }

// keptWitness is the newest witness that this process knows.
type keptWitness struct {
	streams *streams

	sync.Mutex
	seq  uint64 // of its message; 0: no message
	have witness
}

// witnessEvery is after how many messages of the log a witness is written.
const witnessEvery = 512

func (w *witness) encode() []byte {
	b := canon.AppendString(canon.AppendUint(nil, w.format), w.life)
	b = canon.AppendUint(canon.AppendUint(b, w.seq), w.digest.Count)
	b = append(b, w.digest.Sum[:]...)
	for _, end := range w.slots {
		b = canon.AppendUint(canon.AppendUint(b, end.last), end.keys)
	}
	return seal(b)
}

func (w *witness) decode(data []byte) error {
	b, err := unseal(data)
	if err != nil {
		return err
	}
	r := canon.NewReader(b)
	*w = (witness{format: r.Uint()})
	if w.format > format {
		return nil
	}
	w.life, w.seq = r.String(), r.Uint()
	w.digest.Count = r.Uint()
	copy(w.digest.Sum[:], r.Raw(len(w.digest.Sum)))
	for i := range w.slots {
		w.slots[i] = slotEnd{r.Uint(), r.Uint()}
	}
	return r.Done()
}

// read asks for the newest witness. [errNone].
func (s *keptWitness) read(ctx context.Context) (w witness, err error) {
	m, _, err := s.streams.newest(ctx, "read what the log must have", s.streams.names.aside(), s.streams.names.witnessSubject())
	if err != nil {
		return w, err
	}
	if err := w.decode(m.Data); err != nil {
		return w, s.streams.lost("what says what the log must have is damaged: %v", err)
	}
	s.Lock()
	defer s.Unlock()
	s.seq, s.have = m.Seq, w
	return w, nil
}

// put writes a witness, unless there is one already that is as new.
func (s *keptWitness) put(ctx context.Context, w witness) error {
	s.Lock()
	defer s.Unlock()
	for s.seq == 0 || s.have.seq <= w.seq && s.have != w {
		m := &nats.Msg{Subject: s.streams.names.witnessSubject(), Data: w.encode(), Header: nats.Header{}}
		m.Header.Set("Nats-Rollup", jetstream.MsgRollupSubject)
		var seq uint64
		err := s.streams.retryUnknown(ctx, "write what the log must have", func(ctx context.Context) (err error) {
			seq, err = s.streams.publish(ctx, s.streams.names.aside(), m, s.seq)
			return err
		})
		if err == nil {
			s.seq, s.have = seq, w
			return nil
		}
		if !hasMoved(err) {
			return err
		}
		s.Unlock()
		_, err = s.read(ctx)
		s.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// testify writes a witness of all that this process knows.
func (s *Store) testify(ctx context.Context) error {
	s.slotting.Lock()
	defer s.slotting.Unlock()
	return s.testifyWithout(ctx, "", 0)
}

// testifyWithout writes a witness by which the bucket of a thread may lack some keys.
// Callers hold slotting.
func (s *Store) testifyWithout(ctx context.Context, thread string, keys uint64) error {
	ends, err := s.slots.ends(ctx)
	if err != nil {
		return s.streams.wrap("look at the slots", err)
	}
	for i := range ends {
		if s.streams.names.bucket(slotThreads[i]) == s.streams.names.bucket(thread) {
			ends[i].keys -= min(keys, ends[i].keys)
		}
	}
	s.view.index.RLock()
	w := witness{format: format, life: s.life, seq: s.view.applied, digest: s.view.digest, slots: ends}
	err = s.view.err
	s.view.index.RUnlock()
	if err != nil {
		return err
	}
	return s.witness.put(ctx, w)
}

// testifySometimes writes a witness after every so many messages of the log.
func (s *Store) testifySometimes(ctx context.Context, seq uint64) {
	if seq%witnessEvery != 0 {
		return
	}
	if err := s.testify(ctx); err != nil {
		s.opts.Logger.Warn("posthouse: cannot write what the log must have", "store", s.streams.where, "err", err)
	}
}
