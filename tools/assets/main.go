// Command assets packs what Vite built of the web pages into the files that the binary embeds:
//
//	go -C tools run ./assets ../ui/web/build/site ../ui/dist
//
// Scripts and styles are compressed by Go, so that the bytes are the same on every machine; what
// Node compresses depends on its version and on the processor.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
)

// Limits of what a browser loads first, and of all that is embedded, in bytes as they are sent.
const (
	maxFirst = 150 << 10
	maxChunk = 150 << 10
	maxAll   = 600 << 10
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: assets BUILT PACKED")
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// pack replaces the directory to by the packed files of from, and says how large they are. It fails
// with what is larger than its limit.
func pack(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, "assets"), 0o755); err != nil {
		return err
	}
	first, all := 0, 0
	index, err := os.ReadFile(filepath.Join(from, "index.html"))
	if err != nil {
		return err
	}
	err = fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if ext := path.Ext(name); ext == ".js" || ext == ".css" || ext == ".md" {
			name += ".gz"
			data = compress(data)
		}
		all += len(data)
		if bytes.Contains(index, []byte(path.Base(filepath.ToSlash(trim(name))))) {
			first += len(data)
		}
		if len(data) > maxChunk {
			return fmt.Errorf("%s has %d bytes: at most %d are allowed in a file", name, len(data), maxChunk)
		}
		fmt.Printf("%8d %s\n", len(data), name)
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%8d first load without fonts, at most %d\n%8d all, at most %d\n", first, maxFirst, all, maxAll)
	if first > maxFirst || all > maxAll {
		return fmt.Errorf("%d bytes at first and %d in all: at most %d and %d are allowed", first, all, maxFirst, maxAll)
	}
	return nil
}

// trim returns the name that the page has for a packed file.
func trim(name string) string {
	if path.Ext(name) == ".gz" {
		return name[:len(name)-len(".gz")]
	}
	return name
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
