package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
)

// runDemo serves the demo until ctx ends, and removes its data.
func (s *serving) runDemo(ctx context.Context) (err error) {
	if s.store.URL != "" || s.ephemeral {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "demo", Message: "has a store of its own: --store and --ephemeral do not go with it",
			Hint: "leave them out, or leave --demo out",
		}
	}
	remove, err := s.demoDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	o, err := s.options()
	if err != nil {
		return err
	}
	d := s.config.Dev.Demo
	o.Programs, o.Fill, o.Work, o.Letters = d.Programs, d.Fill, d.Work, d.Letters
	return s.serve(ctx, o)
}

// demoDir makes the directory that is named, or a temporary one, the data directory. A directory
// that has anything in it is refused, since remove removes what is in it then.
func (s *serving) demoDir() (remove func() error, err error) {
	e := s.env
	if e.DataDir == "" {
		e.DataDir, err = os.MkdirTemp("", "posthouse-demo-")
		return func() error { return os.RemoveAll(e.DataDir) }, err
	}
	files, err := os.ReadDir(e.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return os.RemoveAll(e.DataDir) }, datadir.Dir(e.DataDir).Create()
	case err != nil:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "data-dir", Message: "cannot be read", Err: err, Hint: "name an empty directory, or leave --data-dir out"}
	case len(files) > 0:
		return nil, &posthouse.Error{
			Code: posthouse.CodeConflict, Field: "data-dir",
			Message: e.DataDir + " has data, as " + files[0].Name() + ": a demo is never mixed with it",
			Hint:    "leave --data-dir and POSTHOUSE_DATA_DIR out, and the demo makes a directory of its own; or name an empty one",
		}
	}
	return func() error { return empty(e.DataDir) }, nil
}

// empty removes what is in a directory.
func empty(dir string) error {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
	}
	return err
}
