// Package verbatim writes and reads JSON with values on record as strings of their bytes. A client that
// reads numbers as floats makes 9007199254740992 of an account 9007199254740993; a string it passes on as
// it is.
//
//	body, err := verbatim.Marshal(gate)      // {"id":"...","payload":"{\"account\": 9007199254740993}"}
//	body, err = verbatim.Restore(sent, type) // and back, before it is decoded
//
// A value on record is what a type has as [json.RawMessage]: a payload, a schema, a state, an input, a
// result. Everything else is as encoding/json has it.
package verbatim
