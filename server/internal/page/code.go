package page

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	codeMark = "once_" // begins a code, which no token does
	codeTime = 10 * time.Minute
	maxCodes = 16 // that wait to be used
)

// codes are those that log a browser in once. The zero value is ready.
type codes struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]waitingCode // by its digest
}

// A waitingCode is for whom a code logs in, and until when.
type waitingCode struct {
	token tokens.Token
	until time.Time
}

// Code returns a code that logs a browser in as a token, once, within ten minutes. It fails with
// [posthouse.ErrBusy] if too many wait to be used.
func (p *Pages) Code(token tokens.Token) (string, error) {
	code, now := codeMark+rand.Text(), p.now()
	p.codes.mu.Lock()
	defer p.codes.mu.Unlock()
	if p.codes.all == nil {
		p.codes.all = map[[sha256.Size]byte]waitingCode{}
	}
	for digest, w := range p.codes.all {
		if !now.Before(w.until) {
			delete(p.codes.all, digest)
		}
	}
	if len(p.codes.all) >= maxCodes {
		return "", &posthouse.Error{Code: posthouse.CodeBusy, Message: "too many codes wait to be used", Hint: "use one, or wait ten minutes"}
	}
	p.codes.all[sha256.Sum256([]byte(code))] = waitingCode{token, now.Add(codeTime)}
	return code, nil
}

// useCode takes a code. ok is false for one that was used, is too old, or was never made.
func (p *Pages) useCode(code string) (token tokens.Token, ok bool) {
	if !strings.HasPrefix(code, codeMark) {
		return token, false
	}
	digest := sha256.Sum256([]byte(code))
	p.codes.mu.Lock()
	defer p.codes.mu.Unlock()
	w, ok := p.codes.all[digest]
	delete(p.codes.all, digest)
	return w.token, ok && p.now().Before(w.until)
}
