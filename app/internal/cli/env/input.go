package env

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// ReadArg returns a text given on the command line. "-" reads standard input,
// "@path" a file. Text that is not UTF-8 is [posthouse.ErrInvalid].
func (e *Env) ReadArg(v string) ([]byte, error) {
	data, err := e.readBytes(v)
	if err == nil {
		err = IsText("value", data)
	}
	return data, err
}

// ReadJSON is [Env.ReadArg] for JSON; hint says what to do if it is something else.
func (e *Env) ReadJSON(field, v, hint string) (json.RawMessage, error) {
	data, err := e.ReadArg(v)
	if err == nil && !json.Valid(data) {
		err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not JSON", Hint: hint}
	}
	return data, err
}

func (e *Env) readBytes(v string) ([]byte, error) {
	switch {
	case v == "-":
		return readAll(e.In)
	case strings.HasPrefix(v, "@"):
		f, err := os.Open(v[1:])
		if err != nil {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Message: "the file after @ cannot be read", Err: err, Hint: "give the path of a file, or the value itself",
			}
		}
		defer f.Close()
		return readAll(f)
	}
	return []byte(v), nil
}

func readAll(r io.Reader) ([]byte, error) {
	const limit = 16 << 20
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "value", Message: "cannot be read", Err: err}
	case len(data) > limit:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "value", Message: "is larger than 16 MiB"}
	}
	return data, nil
}

// IsText refuses text that is not UTF-8, which JSON would change.
func IsText[T ~string | ~[]byte](field string, v T) error {
	if utf8.ValidString(string(v)) {
		return nil
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not UTF-8", Hint: "convert it first, as with iconv"}
}
