package main

import "github.com/posthouse/posthouse/app"

// version is set by the linker; without it, it is what Go recorded.
var version string

func main() { app.Main(programs()) }
