package desk

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Told returns a story that has the text wherever a story can have text.
func Told(text string) posthouse.Story {
	return posthouse.Story{
		Took: time.Second, Attempts: 2, Error: text,
		Notes: []posthouse.Note{{Line: text, Model: text, Input: map[string]any{"in": text}, Cost: text, Values: map[string]any{text: text}}},
	}
}
