// Package valid has the checks of input that are the same for all stores.
//
// It may import the standard library and the root package.
package valid
