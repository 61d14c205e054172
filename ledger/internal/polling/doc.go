// Package polling watches a store that is no [posthouse.Watcher]: it looks again and again for
// threads with moved tails. Its cursors say how far each thread was seen, since such a store has
// no order across threads.
package polling
