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
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"
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
	opened, err := firstFiles(from)
	if err != nil {
		return err
	}
	first, all := 0, 0
	err = fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == path.Dir(manifest) {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		isFirst := opened[name]
		if ext := path.Ext(name); ext == ".js" || ext == ".css" || ext == ".md" {
			name += ".gz"
			data = compress(data)
		}
		all += len(data)
		mark := " "
		if isFirst {
			first += len(data)
			mark = "*"
		}
		if len(data) > maxChunk {
			return fmt.Errorf("%s has %d bytes: at most %d are allowed in a file", name, len(data), maxChunk)
		}
		fmt.Printf("%8d %s %s\n", len(data), mark, name)
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%8d first load (*), at most %d\n%8d all, at most %d\n", first, maxFirst, all, maxAll)
	if first > maxFirst || all > maxAll {
		return fmt.Errorf("%d bytes at first and %d in all: at most %d and %d are allowed", first, all, maxFirst, maxAll)
	}
	return nil
}

// manifest is where Vite writes which file needs which.
const manifest = ".vite/manifest.json"

// firstFiles returns the files that a browser loads before it shows the inbox: the page, its scripts and styles, those
// of the inbox, and the fonts of Latin texts. Extended fonts are loaded by a text that needs them.
func firstFiles(dir string) (map[string]bool, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifest))
	if err != nil {
		return nil, err
	}
	var parts map[string]struct {
		File                 string
		Imports, CSS, Assets []string
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	first := map[string]bool{"index.html": true}
	var need func(part string) error
	need = func(part string) error {
		p, ok := parts[part]
		if !ok {
			return fmt.Errorf("%s has no %s", manifest, part)
		}
		if first[p.File] {
			return nil
		}
		first[p.File] = true
		for _, file := range append(p.CSS, p.Assets...) {
			first[file] = first[file] || !strings.Contains(file, "latin-ext")
		}
		for _, other := range p.Imports {
			if err := need(other); err != nil {
				return err
			}
		}
		return nil
	}
	if err := need("index.html"); err != nil {
		return nil, err
	}
	return first, need("src/inbox/screen.tsx")
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
