package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
)

// directory looks at the data directory itself.
func (x *examination) directory() {
	const check = "data directory"
	path := string(x.dir)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.isNew = true
		x.add(check, Note, "posthouse serve makes it; if it should be there, a disk may be missing, or --data-dir is another", path+" is not there yet")
		return
	case err != nil:
		x.failed(check, err)
		return
	case !info.IsDir():
		x.add(check, Fault, "name a directory with --data-dir", path+" is no directory")
		return
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		x.add(check, Warning, "run: chmod 700 "+path, fmt.Sprintf("%s can be read by others (mode %04o)", path, mode))
	}
	f, err := os.CreateTemp(path, ".doctor-")
	if err != nil {
		x.add(check, Fault, "run it as the user that the server runs as; make room if the disk is full", path+" cannot be written to: "+err.Error())
		return
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		x.failed(check, err)
		return
	}
	if _, err := x.dir.Mark(); err != nil {
		x.failed(check, err)
		return
	}
	x.ok(check, path+" is there and can be written to")
}

// keys looks at the signing key and at the encryption keys.
func (x *examination) keys() {
	if x.isNew {
		return
	}
	_, err := sign.Load(x.dir.Key())
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
		x.add("signing key", Warning, "posthouse serve makes one at the first start; if it is lost, restore it from a backup, or start once with --new-key", "there is no "+x.dir.Key())
	case err != nil:
		x.failed("signing key", err)
	default:
		x.ok("signing key", x.dir.Key()+" can be used")
	}
	path := x.dir.EncryptionKeys()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return // they are not asked for
	}
	if _, err := keyfile.Load(path); err != nil {
		x.failed("encryption keys", err)
		return
	}
	x.ok("encryption keys", path+" can be used")
}

// tokens looks for one that may do everything, and at the one that commands would send.
func (x *examination) tokens() {
	const check = "tokens"
	if !x.isNew {
		list, err := tokens.Open(string(x.dir), nil)
		var all []tokens.Token
		if err == nil {
			all, err = list.All()
		}
		x.alike(all)
		operators := 0
		for _, t := range all {
			if t.Role == tokens.Operator && !t.Expired(x.now) {
				operators++
			}
		}
		switch {
		case err != nil:
			x.failed(check, err)
		case len(all) == 0:
			x.add(check, Note, "posthouse serve makes the first", "there is no token yet")
		case operators == 0:
			x.add(check, Fault, "make one: posthouse token create --name operator --role operator", "no operator's token is good")
		default:
			x.ok(check, fmt.Sprintf("%d; of operators, %d are good", len(all), operators))
		}
		x.makers(all)
	}
	if _, err := x.env.Token(); err != nil {
		x.failed("token of commands", err)
	}
}

// maxNamed bounds the names of tokens in one line.
const maxNamed = 20

// makers says which tokens count as their makers', and of which no maker is known.
func (x *examination) makers(all []tokens.Token) {
	var earlier, open []string
	for i := range all {
		switch t := &all[i]; {
		case t.Unrecorded():
			earlier = append(earlier, t.Name)
		case !t.IsConfirmed():
			open = append(open, t.Name+" (made by "+t.Maker.Name+")")
		}
	}
	if len(earlier) > 0 {
		x.add("tokens", Note, "if one of them may be an operator's second name, revoke it and make it again: posthouse token create",
			"made before makers were recorded, so each counts as a separate person: "+some(earlier))
	}
	if len(open) > 0 {
		x.add("tokens", Note, "if it is another person's: posthouse token confirm NAME", "not confirmed, each counts as its maker: "+some(open))
	}
}

func some(names []string) string {
	if n := len(names); n > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", n-maxNamed)
	}
	return strings.Join(names, ", ")
}
