package secretfile

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"github.com/posthouse/posthouse"
)

// Blocks calls do for every PEM block of a file that holds nothing but
// blocks, blank lines and comments. [posthouse.ErrInvalid] names the field for
// anything else.
func Blocks(field string, data []byte, do func(*pem.Block) error) error {
	n := 0
	for data = skipComments(data); len(data) > 0; data = skipComments(data) {
		block, rest := pem.Decode(data)
		if block == nil {
			return damaged(field, "has something that is no PEM block after %d keys", n)
		}
		begin := []byte("-----BEGIN ")
		if text := data[:len(data)-len(rest)]; !bytes.HasPrefix(text, begin) || bytes.Count(text, begin) != 1 {
			return damaged(field, "has a damaged PEM block after %d keys", n)
		}
		if err := do(block); err != nil {
			return err
		}
		n, data = n+1, rest
	}
	return nil
}

func skipComments(data []byte) []byte {
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 || data[0] != '#' {
			return data
		}
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
}

func damaged(field, format string, n int) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: fmt.Sprintf(format, n)}
}
