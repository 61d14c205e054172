package stores

import (
	"errors"
	"os"

	"github.com/posthouse/posthouse"
)

// writeSecret writes what made returns to a new file; with out "" it writes nothing. It
// makes the file first. If the secret cannot be written there, undo ends it.
func writeSecret(out string, made func() (string, error), undo func() error) error {
	if out == "" {
		_, err := made()
		return err
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		e := cannotWrite(err)
		e.Hint = "name a file that is not there yet, in a directory that is"
		return e
	}
	secret, err := made()
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(out))
	}
	_, err = f.WriteString(secret + "\n")
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return errors.Join(cannotWrite(err), undo())
	}
	return nil
}

// cannotWrite is the error for the file that --out names.
func cannotWrite(err error) *posthouse.Error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "out", Message: "cannot be written", Err: err}
}
