package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Witness is the path of a file in which processes write down what they do to the world,
// where no store can make them forget it.
type Witness string

// Note adds a line. It is one write, so lines of several processes do not mix.
func (w Witness) Note(line string) error {
	f, err := os.OpenFile(string(w), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// Notes returns the lines, oldest first.
func (w Witness) Notes() ([]string, error) {
	data, err := os.ReadFile(string(w))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), err
}
