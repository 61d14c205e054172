// Package openapi has the tests of /openapi.json with the tools that clients are made with. They need
// Node 20.19 or later, and the packages of testdata/package-lock.json, which npm installs.
package openapi
