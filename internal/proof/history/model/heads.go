package model

import (
	"strings"

	"github.com/anishathalye/porcupine"
)

// Heads is the model of logs that grow at their end. Its state is all positions: an append
// of what is there already succeeds and changes nothing.
func Heads() porcupine.Model { return modelOf(headStep) }

func headStep(log string, op Op, out Answer) []string {
	tail := log[strings.LastIndexByte(log, ' ')+1:]
	switch {
	case op.Do == Tail:
		return when(out.Tail == tail, log)
	case op.Do == Log:
		return when(out.Log == log, log)
	}
	there := strings.Contains(log+" ", " "+op.Next+" ")
	fits := !there && tail == op.After
	switch out.Code {
	case OK:
		if there {
			return []string{log}
		}
		return when(fits, log+" "+op.Next)
	case Conflict:
		return when(!there && !fits && out.Tail == tail, log)
	case Unknown:
		if fits {
			return []string{log + " " + op.Next}
		}
		return []string{log}
	}
	return nil
}
