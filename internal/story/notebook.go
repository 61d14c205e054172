package story

import (
	"sync"

	"github.com/posthouse/posthouse"
)

// A Notebook collects what code says about the step that it runs in. The zero value is empty. It is
// safe for concurrent use.
type Notebook struct {
	mu     sync.Mutex
	notes  []posthouse.Note
	size   int
	closed bool // its notes are on their way to the record
}

// Add adds a note. Errors are those of [EncodeNote], [posthouse.ErrTooLarge] beyond
// [posthouse.MaxNotes] and [posthouse.MaxNotesSize], and [posthouse.ErrClosed] once they were taken.
func (b *Notebook) Add(n *posthouse.Note) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &posthouse.Error{
			Code: posthouse.CodeClosed, Message: "a note came after its step had ended",
			Hint: "wait for goroutines before the step's function returns",
		}
	}
	if len(b.notes) >= posthouse.MaxNotes {
		return posthouse.TooMany("notes", len(b.notes)+1, posthouse.MaxNotes, "put what belongs together into one note, or into steps of its own")
	}
	encoded, size, err := EncodeNote(n)
	if err != nil {
		return err
	}
	if b.size+size > posthouse.MaxNotesSize {
		return posthouse.TooLarge("notes", b.size+size, posthouse.MaxNotesSize)
	}
	b.notes, b.size = append(b.notes, *encoded), b.size+size
	return nil
}

// Take ends the notebook and returns what is in it.
func (b *Notebook) Take() []posthouse.Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.notes
}

// Notes returns what is in the notebook, which goes on.
func (b *Notebook) Notes() []posthouse.Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]posthouse.Note(nil), b.notes...)
}
