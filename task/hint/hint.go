package hint

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// MaxSize bounds an encoded hint, in bytes: one has four names and a time.
const MaxSize = 4 << 10

// A Hint says that a task may be ready. Nothing follows from it but a look at the gate.
type Hint struct {
	Gate   posthouse.ID `json:"gate"`
	Thread string       `json:"thread"`
	Task   string       `json:"task"`            // the handler's name
	Group  string       `json:"group,omitempty"` // of workers; "" is all of them

	NotBefore time.Time `json:"notBefore,omitzero"` // when the task may be claimed
}

// Check returns [posthouse.ErrInvalid] for a hint that names no task.
func (h *Hint) Check() error {
	if err := h.Gate.Validate(); err != nil {
		return err
	}
	if err := posthouse.ValidateName("thread", h.Thread); err != nil {
		return err
	}
	if err := posthouse.ValidateName("task", h.Task); err != nil {
		return err
	}
	if h.Group == "" {
		return nil
	}
	return posthouse.ValidateName("group", h.Group)
}

// Encode returns the hint as JSON.
func (h *Hint) Encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a name stays as long as it is
	_ = e.Encode(h)        // names and a time
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Parse reads what Encode wrote, strictly. [posthouse.ErrTooLarge] for more than [MaxSize]
// bytes, [posthouse.ErrInvalid] for anything else that is no hint.
func Parse(b []byte) (h Hint, err error) {
	if len(b) > MaxSize {
		return h, posthouse.TooLarge("hint", len(b), MaxSize)
	}
	if err := posthouse.CheckStrict("hint", b); err != nil {
		return h, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return Hint{}, posthouse.Invalid("hint", "does not parse: %v", err)
	}
	return h, h.Check()
}
