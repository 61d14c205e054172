package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A pending is what a browser keeps of a login that has begun, signed. The provider's part has its state,
// which the callback must repeat.
type pending struct {
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	Kept string    `json:"kept"`
	Next string    `json:"next,omitempty"`
}

// pendings seal and open them, and let each log in once.
type pendings struct {
	key []byte
	now func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // ids, until when they are remembered
}

func (ps *pendings) seal(kept, next string) (string, error) {
	data, err := json.Marshal(pending{rand.Text(), ps.now().UTC(), kept, next})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(data)
	return text + "." + base64.RawURLEncoding.EncodeToString(ps.mac(text)), nil
}

func (ps *pendings) mac(text string) []byte {
	h := hmac.New(sha256.New, ps.key)
	h.Write([]byte("posthouse/signin/1 " + text))
	return h.Sum(nil)
}

// open returns what was sealed. ok is false for what this server did not seal, or not lately.
func (ps *pendings) open(sealed string) (p pending, ok bool) {
	text, mac, _ := strings.Cut(sealed, ".")
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, ps.mac(text)) {
		return p, false
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return p, false
	}
	age := ps.now().Sub(p.At)
	return p, age >= 0 && age < signInTime || age < 0 && age > -time.Minute // another server's clock
}

// use uses a login up. forget lets it be used again: it did not come so far.
func (ps *pendings) use(p *pending) (forget func(), err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	now := ps.now()
	for id, until := range ps.used {
		if !now.Before(until) {
			delete(ps.used, id)
		}
	}
	if _, again := ps.used[p.ID]; again {
		return nil, &posthouse.Error{Code: posthouse.CodeForbidden, Message: "this login was used already"}
	}
	ps.used[p.ID] = p.At.Add(signInTime + time.Minute)
	return func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		delete(ps.used, p.ID)
	}, nil
}
