// Package diff compares checkpoints.
//
//	c, err := diff.Compare(ctx, led, a, b) // by id, with their common ancestor
//	c = diff.States(a, b)                  // two that are in memory
//	paths, more := diff.JSON(old, new)     // two JSON values, path by path
package diff
