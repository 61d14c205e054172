package statement

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

// An envelope is a DSSE envelope, https://github.com/secure-systems-lab/dsse,
// protocol version 1.
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     string              `json:"payload"` // base64
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base64
}

// pae returns the bytes that are signed, DSSE's pre-authentication encoding.
func pae(payloadType string, payload []byte) []byte {
	b := fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload))
	return append(b, payload...)
}

func wrap(payloadType string, payload []byte, signer posthouse.Signer) ([]byte, error) {
	sig, err := signer.Sign(pae(payloadType, payload))
	if err != nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "key " + signer.KeyID() + " did not sign", Err: err,
		}
	}
	data, err := json.Marshal(envelope{payloadType, base64.StdEncoding.EncodeToString(payload),
		[]envelopeSignature{{signer.KeyID(), base64.StdEncoding.EncodeToString(sig)}}})
	return append(data, '\n'), err
}

// unwrap returns the payload and the key of the ring that signed it. One signature by a key
// of the ring is enough, and all of them must verify.
func unwrap(data []byte, payloadType string, ring *sign.Ring) ([]byte, sign.Public, error) {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, sign.Public{}, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "envelope", Message: "is not a DSSE envelope", Err: err}
	}
	if env.PayloadType != payloadType {
		return nil, sign.Public{}, posthouse.Invalid("envelope", "holds %.100q, not %q", env.PayloadType, payloadType)
	}
	payload, err := decode64(env.Payload)
	if err != nil {
		return nil, sign.Public{}, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "envelope", Message: "has a payload that is not base64", Err: err}
	}
	message := pae(env.PayloadType, payload)
	var by sign.Public
	var names []string
	for _, s := range env.Signatures {
		names = append(names, s.KeyID)
		key, ok := ring.Key(s.KeyID)
		if !ok {
			continue
		}
		sig, err := decode64(s.Sig)
		if err != nil || !key.Verify(message, sig) {
			return nil, sign.Public{}, &posthouse.Error{
				Code: posthouse.CodeCorrupt, Message: "the envelope's signature by " + key.ID + " does not verify", Err: err,
				Hint: "it was changed after it was signed; get it again from where it came",
			}
		}
		by = key
	}
	if by.ID == "" {
		return nil, sign.Public{}, unknownKey(names)
	}
	return payload, by, nil
}

func unknownKey(names []string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: fmt.Sprintf("it is unverifiable: the ring has no key of its signers %.200q", names),
		Hint: "get the signer's public key from somebody you trust and add it to the ring",
	}
}

// decode64 reads standard or URL-safe base64, as DSSE requires of verifiers.
func decode64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "-_") {
		return base64.URLEncoding.Strict().DecodeString(s)
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}
