// Package valid has the checks of input that are the same for all stores.
package valid
