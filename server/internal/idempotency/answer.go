package idempotency

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

// maxAnswer bounds an answer that is kept, in bytes: compressed, before it is encrypted.
const maxAnswer = 1<<20 - 64

// maxPlain bounds what a kept answer opens to, in bytes.
const maxPlain = 64 << 20

// keptHeaders are the headers of an answer that are kept beside its body.
var keptHeaders = [...]string{"Content-Type", "Location", "ETag"}

// An Answer is one that is kept for a key.
type Answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   []byte            `json:"-"`
}

// NewAnswer returns an answer to keep, with those of the headers that are kept.
func NewAnswer(status int, h http.Header, body []byte) *Answer {
	a := &Answer{Status: status, Header: map[string]string{}, Body: body}
	for _, name := range keptHeaders {
		if v := h.Get(name); v != "" {
			a.Header[name] = v
		}
	}
	return a
}

// Write answers with it, and says that the request was sent before.
func (a *Answer) Write(w http.ResponseWriter) {
	for name, v := range a.Header {
		w.Header().Set(name, v)
	}
	w.Header().Set(api.ReplayedHeader, "true")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may be gone
}

// pack returns the answer in fewer bytes: a line of JSON, and the body.
func (a *Answer) pack() ([]byte, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(append(append(line, '\n'), a.Body...))
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func unpack(packed []byte) (*Answer, error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxPlain+1))
	if err != nil {
		return nil, err
	}
	line, body, ok := bytes.Cut(plain, []byte("\n"))
	a := &Answer{}
	if !ok || len(plain) > maxPlain {
		return nil, errors.New("an answer of another form")
	}
	if err := json.Unmarshal(line, a); err != nil {
		return nil, err
	}
	if a.Status < 200 || a.Status > 299 {
		return nil, errors.New("an answer without a status")
	}
	a.Body = body
	return a, nil
}

// seal returns what encrypts the answers of a request: with its key, which the store does not have.
func (q *Request) seal() (cipher.AEAD, error) {
	block, err := aes.NewCipher(q.named.derive("posthouse answer 1", q.named.principal, string(q.ID)))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Keep puts the answer on record. One that is too large, or that there is no room for, is not
// kept: the request then runs again if it is sent again, and its handler finds what is on record.
func (q *Request) Keep(ctx context.Context, a *Answer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	packed, err := a.pack()
	if err != nil {
		return err
	}
	aead, err := q.seal()
	if err != nil {
		return err
	}
	if len(packed) > maxAnswer {
		return q.End(ctx, http.StatusInternalServerError)
	}
	sealed := aead.Seal(nil, nil, packed, []byte(q.ID))
	step, _ := q.named.place()
	failed := error(nil)
	err = q.update(ctx, func(b *bucket, rec *record) bool {
		rec.Phase, rec.Held = open, 0
		if !b.keeps(rec.By, len(sealed)) {
			return true
		}
		// Before the record says so: a process that is lost in between leaves the request open.
		var kept posthouse.Slot
		kept, failed = q.keys.store.Slot(ctx, answerSlot(step, rec.Slot), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: sealed, Revision: posthouse.AnyRevision})
		if failed != nil {
			return true
		}
		rec.Phase, rec.Size, rec.Rev = answered, len(sealed), kept.Revision
		return true
	})
	return errors.Join(err, failed)
}

// answer reads the answer that is kept. It returns nil once that is gone.
func (q *Request) answer(ctx context.Context) (*Answer, error) {
	step, _ := q.named.place()
	have, err := q.keys.store.Slot(ctx, answerSlot(step, q.rec.Slot), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	aead, err := q.seal()
	if err != nil {
		return nil, err
	}
	packed, err := aead.Open(nil, nil, have.Value, []byte(q.ID))
	if err != nil {
		return nil, nil // another request's, which was written over it
	}
	a, err := unpack(packed)
	if err != nil {
		return nil, posthouse.Corrupt("the answer kept for a request does not decode: %v", err)
	}
	return a, nil
}
