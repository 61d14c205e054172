// Command docs makes the documentation's pages of the Markdown in a repository:
//
//	go -C tools run ./docs .. ../ui/docs.tar.zst
//
// The contents are docs/README.md: its sections and links are the navigation, and every page of docs
// must be among them. A link that leads nowhere, an anchor that is not there, and a figure whose
// picture is older than its source are errors. The archive has the same bytes on every machine, and is
// compared with what is committed.
//
// With -figures it lists the figures that are to be drawn, as JSON, for tools/figures.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// maxAll is the most that the binary may have of the pages and all their files, in bytes.
const maxAll = 600 << 10

func main() {
	log.SetFlags(0)
	if len(os.Args) == 3 && os.Args[1] == "-figures" {
		todo, err := listFigures(os.Args[2])
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(todo)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) != 3 {
		log.Fatal("usage: docs REPOSITORY ARCHIVE, or docs -figures REPOSITORY")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// run writes a repository's pages into an archive, and its llms.txt, and says how large they are.
func run(repository, to string) error {
	s, err := build(repository)
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	data, err := archive(files)
	if err != nil {
		return err
	}
	plain := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		plain += len(files[name])
		if len(files[name]) > 100<<10 {
			fmt.Printf("%8d %s\n", len(files[name]), name)
		}
	}
	fmt.Printf("%8d all %d files\n%8d compressed, at most %d\n", plain, len(files), len(data), maxAll)
	if len(data) > maxAll {
		return fmt.Errorf("%d bytes: at most %d are allowed", len(data), maxAll)
	}
	full, err := compressed(s.llmsFull())
	if err != nil {
		return err
	}
	fmt.Printf("%8d %s of %d bytes, at most %d\n", len(full), fullName, len(s.llmsFull()), maxFull)
	if len(full) > maxFull {
		return fmt.Errorf("%s has %d bytes: at most %d are allowed", fullName, len(full), maxFull)
	}
	return errors.Join(os.WriteFile(to, data, 0o644), os.WriteFile(filepath.Join(filepath.Dir(to), fullName), full, 0o644), os.WriteFile(filepath.Join(repository, "llms.txt"), s.llms(false), 0o644))
}
