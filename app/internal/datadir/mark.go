package datadir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// A Mark says which store a data directory belongs to: its keys have signed what is in
// that one, and its tokens speak there.
type Mark struct {
	ID      string `json:"id"`            // of the store, which has it as well
	Key     string `json:"key,omitempty"` // the id of the key that signs there; empty in marks of earlier versions
	Address string `json:"address"`       // where it was last, without passwords, for people
}

// maxMark bounds the file of a mark, in bytes.
const maxMark = 1 << 16

func (d Dir) markPath() string { return filepath.Join(string(d), "store.json") }

// Mark returns the directory's mark, nil if it has no mark: it is new, or an earlier
// version made it.
func (d Dir) Mark() (*Mark, error) {
	m, err := secretfile.Load(d.markPath(), maxMark, func(data []byte) (*Mark, error) {
		m := &Mark{}
		if json.Unmarshal(data, m) != nil || m.ID == "" {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "data directory", Message: "has a mark of its store that cannot be read",
				Hint: "restore the file, or set the mark for the store at hand: posthouse serve --new-store",
			}
		}
		return m, nil
	})
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

// SetMark writes the directory's mark, durably.
func (d Dir) SetMark(m Mark) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return secretfile.Replace(d.markPath(), append(data, '\n'), 0o600)
}
