package webhook

import (
	"crypto/hmac"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// The headers of a message.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Tolerance is how far a message's timestamp may be from the receiver's clock.
const Tolerance = 5 * time.Minute

// Verify checks a message at its receiver and returns its id: remember it, for a message may come
// twice. body is the request's, byte by byte. It holds if one signature is by one of the secrets.
//
// [posthouse.ErrForbidden] for a message without a signature that holds, and for one that is older
// or newer than [Tolerance]. Any Standard Webhooks library does the same.
func Verify(h http.Header, body []byte, now time.Time, secrets ...*Secret) (id string, err error) {
	refused := func(why string) (string, error) {
		return "", &posthouse.Error{Code: posthouse.CodeForbidden, Message: "the message is refused: " + why}
	}
	id = h.Get(headerID)
	seconds, err := strconv.ParseInt(h.Get(headerTimestamp), 10, 64)
	if id == "" || err != nil {
		return refused("it has no id or no timestamp")
	}
	at := time.Unix(seconds, 0)
	if d := now.Sub(at); d > Tolerance || d < -Tolerance {
		return refused("its timestamp is more than " + Tolerance.String() + " away")
	}
	for _, signature := range strings.Fields(h.Get(headerSignature)) {
		for _, s := range secrets {
			if hmac.Equal([]byte(signature), []byte(s.Sign(id, at, body))) {
				return id, nil
			}
		}
	}
	return refused("no signature is by a secret that is known")
}
