package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Secret is a key that a sender and a receiver share, of 24 to 64 bytes.
type Secret struct{ key []byte }

// secretPrefix begins a secret as text.
const secretPrefix = "whsec_"

// Bounds on the bytes of a secret, by the specification, and on a file of secrets.
const (
	minSecret  = 24
	maxSecret  = 64
	maxFile    = 4 << 10
	maxSecrets = 4
)

// NewSecret returns a random secret as text: whsec_ and 32 bytes in base64.
func NewSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// ParseSecret reads a secret as text: base64, with or without whsec_ before it.
// [posthouse.ErrInvalid], without the text, for anything else.
func ParseSecret(s string) (*Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix))
	if err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "secret", Message: "is not whsec_ and " + strconv.Itoa(minSecret) + " to " + strconv.Itoa(maxSecret) + " bytes in base64",
			Hint: "make one with posthouse webhook secret",
		}
	}
	return &Secret{key}, nil
}

// Sign returns the signature of a message, as in "v1,K5oZ...". at counts in full seconds.
func (s *Secret) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A secretFile is a file with a secret on each line, the newest first. It is read again when it changes,
// so that a secret is rotated without a restart.
type secretFile struct {
	path string

	mu      sync.Mutex
	changed time.Time
	size    int64
	secrets []*Secret
}

// load returns the secrets. [posthouse.ErrInvalid] names the file, and the line at fault.
func (f *secretFile) load() ([]*Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return nil, f.fault("cannot be read", err)
	case info.Size() > maxFile:
		return nil, f.fault("has more than "+strconv.Itoa(maxFile)+" bytes", nil)
	case f.secrets != nil && info.ModTime().Equal(f.changed) && info.Size() == f.size:
		return f.secrets, nil
	}
	b, err := os.ReadFile(f.path)
	if err != nil {
		return nil, f.fault("cannot be read", err)
	}
	var secrets []*Secret
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := ParseSecret(line)
		if err != nil {
			return nil, f.fault("has no secret on line "+strconv.Itoa(n), err)
		}
		secrets = append(secrets, s)
	}
	switch {
	case len(secrets) == 0:
		return nil, f.fault("has no secret", nil)
	case len(secrets) > maxSecrets:
		return nil, f.fault("has more than "+strconv.Itoa(maxSecrets)+" secrets", nil)
	}
	f.changed, f.size, f.secrets = info.ModTime(), info.Size(), secrets
	return secrets, nil
}

func (f *secretFile) fault(what string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "secretFile", Message: "(" + f.path + ") " + what, Err: err,
		Hint: "it has one secret a line, the newest first: posthouse webhook secret makes one",
	}
}

// A SecretFile is a file with a secret on each line, the newest first, at most 4. It is safe for concurrent use.
type SecretFile struct{ file secretFile }

// OpenSecretFile reads a file of secrets. [posthouse.ErrInvalid] names the file, and the line at fault.
func OpenSecretFile(path string) (*SecretFile, error) {
	f := &SecretFile{secretFile{path: path}}
	_, err := f.file.load()
	return f, err
}

// Keys returns the bytes of the secrets. The file is read again when it changes.
func (f *SecretFile) Keys() ([][]byte, error) {
	secrets, err := f.file.load()
	return keysOf(secrets), err
}

func keysOf(secrets []*Secret) [][]byte {
	keys := make([][]byte, len(secrets))
	for i, s := range secrets {
		keys[i] = s.key
	}
	return keys
}
