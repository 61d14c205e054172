package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// create writes a file of the release.
func (r *release) create(file string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.Out, file))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// tar writes an archive with all files below a directory. Owners are numbers, and the time is
// the commit's, so that it has the same bytes wherever it is made.
func (r *release) tar(archive, dir string, files []file) error {
	return r.create(archive, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		for _, f := range files {
			data, err := os.ReadFile(f.From)
			if err != nil {
				return err
			}
			h := tar.Header{Name: dir + "/" + f.To, Mode: int64(f.Mode), Size: int64(len(data)), ModTime: r.when, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
			if err := t.WriteHeader(&h); err != nil {
				return err
			}
			if _, err := t.Write(data); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), z.Close())
	})
}

// zip writes an archive for Windows, with all files below a directory of its name.
func (r *release) zip(base string, files []file) error {
	return r.create(base+".zip", func(w io.Writer) error {
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
		for _, f := range files {
			data, err := os.ReadFile(f.From)
			if err != nil {
				return err
			}
			h := zip.FileHeader{Name: base + "/" + f.To, Method: zip.Deflate, Modified: r.when}
			h.SetMode(f.Mode)
			one, err := z.CreateHeader(&h)
			if err != nil {
				return err
			}
			if _, err := one.Write(data); err != nil {
				return err
			}
		}
		return z.Close()
	})
}
