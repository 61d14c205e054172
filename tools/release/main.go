package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// platforms are those that a release has binaries for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	r := release{Log: os.Stderr}
	flag.StringVar(&r.Root, "root", "..", "checkout of the repository")
	flag.StringVar(&r.Out, "out", "", "directory for the files; it must be empty or not there")
	flag.StringVar(&r.Version, "version", "", "tag, as in v0.1.0")
	flag.StringVar(&r.Main, "main", "release", "directory of the binary's package, in the checkout; it may be a module of its own")
	list := flag.String("platforms", strings.Join(platforms, ","), "platforms to build for, as in linux/amd64")
	flag.Parse()
	r.Platforms = strings.Split(*list, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
