package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// chartDir is the chart, in the checkout.
const chartDir = "deploy/helm/" + name

// chartVersions matches the versions of the chart, and of what it installs.
var chartVersions = regexp.MustCompile(`(?m)^(?:version|appVersion): "?([^"\s]*)"?$`)

// checkChart compares the chart's versions with the release's: an image of another version would
// be installed. One that is released before its time has the chart of before.
func (r *release) checkChart() error {
	if strings.Contains(r.Version, "-") {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(r.Root, chartDir, "Chart.yaml"))
	if err != nil {
		return err
	}
	found := chartVersions.FindAllStringSubmatch(string(data), -1)
	for _, v := range found {
		if v[1] != r.number() {
			return fmt.Errorf("%s/Chart.yaml has the version %s, want %s", chartDir, v[1], r.number())
		}
	}
	if len(found) != 2 {
		return fmt.Errorf("%s/Chart.yaml has %d versions, want its own and appVersion", chartDir, len(found))
	}
	return nil
}

// chart packs the chart as helm package does, below a directory of its name.
func (r *release) chart() error {
	root := filepath.Join(r.Root, chartDir)
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to, err := filepath.Rel(root, path)
		files = append(files, file{From: path, To: filepath.ToSlash(to), Mode: 0o644})
		return err
	})
	if err != nil {
		return err
	}
	return r.tar(name+"-chart-"+r.number()+".tgz", name, files)
}
