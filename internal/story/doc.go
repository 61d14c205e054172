// Package story checks and encodes what is on record of how a step came to its result: how long it
// took, how many attempts there were, and the notes on it.
//
//	var notes story.Notebook
//	err := notes.Add(&posthouse.Note{Line: "asks the model"})
//	body, err := story.Encode(&posthouse.Story{Notes: notes.Take()})
//
// Programs and workers fill a [Notebook]; package commit puts the story on record, and package
// threadlog reads it.
package story
