package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
	"github.com/posthouse/posthouse/internal/secretfile"
	"github.com/posthouse/posthouse/server/tokens"
)

// LoginsFile is the file of logins, beside the tokens. Without it everybody is logged out.
const LoginsFile = "logins.json"

const (
	loginsVersion = 1
	maxLoginsFile = 4 << 20 // bytes
)

// A loginDocument is the file. It has hashes only: of the cookies and of the tokens.
type loginDocument struct {
	Version int                         `json:"version"`
	Logins  map[posthouse.Hash]loginRow `json:"logins"`
}

type loginRow struct {
	Token   tokens.Token `json:"token"`
	Expires time.Time    `json:"expires"`
}

// OpenLogins is [NewLogins] with the logins in a file, so that they hold over a restart.
// Several processes may share it. A file that cannot be read has no logins: its error is
// for the log, and the next login replaces it.
func OpenLogins(now func() time.Time, ttl time.Duration, path string) (*Logins, error) {
	ss := NewLogins(now, ttl)
	ss.path = path
	return ss, ss.refresh()
}

// change applies f to the logins on file, or without a file to those in memory. If the
// file cannot be changed they change in memory, and the error says why a restart will not
// know it. Callers hold ss.mu.
func (ss *Logins) change(f func()) error {
	if ss.path == "" {
		f()
		return nil
	}
	lock, err := filelock.Take(ss.path + ".lock")
	if err != nil {
		f()
		return secretfile.Failed("cannot be locked", ss.path, err)
	}
	defer lock.Close()
	unread := ss.refresh() // the file is replaced
	f()
	rows := make(map[posthouse.Hash]loginRow, len(ss.open))
	for k, x := range ss.open {
		rows[k] = loginRow{x.token, x.expires.UTC()}
	}
	data, err := json.Marshal(loginDocument{loginsVersion, rows})
	if err != nil {
		return errors.Join(unread, err)
	}
	if err := secretfile.Replace(ss.path, data, 0o600); err != nil {
		return errors.Join(unread, err)
	}
	ss.read, err = os.Stat(ss.path)
	return errors.Join(unread, err)
}

// refresh reads the file if it is another than the one read last. Callers hold ss.mu, but
// for [OpenLogins].
func (ss *Logins) refresh() error {
	if ss.path == "" {
		return nil
	}
	info, err := os.Stat(ss.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if ss.read != nil { // it was removed: everybody is logged out
			clear(ss.open)
		}
		ss.read = nil
		return nil
	case err != nil:
		return secretfile.Failed("cannot be examined", ss.path, err)
	case ss.read != nil && os.SameFile(info, ss.read) && info.ModTime().Equal(ss.read.ModTime()) && info.Size() == ss.read.Size():
		return nil
	}
	ss.read = info
	clear(ss.open)
	open, err := secretfile.LoadSecret(ss.path, maxLoginsFile, parseLogins)
	if err != nil {
		return err
	}
	maps.Copy(ss.open, *open)
	return nil
}

func parseLogins(data []byte) (*map[posthouse.Hash]login, error) {
	var d loginDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, posthouse.Invalid("logins", "are damaged")
	}
	if d.Version != loginsVersion {
		return nil, &posthouse.Error{Code: posthouse.CodeNewer, Message: "the logins are of another version", Hint: "log in again"}
	}
	open := make(map[posthouse.Hash]login, len(d.Logins))
	for k, row := range d.Logins {
		open[k] = login{row.Token, row.Expires}
	}
	return &open, nil
}
