// Package stores has the commands that work on a data directory without a server: on its store
// ([Store], [Verify], [Witness], [Export], [Backup], [Restore], [Compact], [Retain], [ThreadExport],
// [ThreadImport], [Cat], [Bench]), on its keys ([Key], [Encryption]) and on its access tokens
// ([Token]).
//
// A command that opens the store has a [StoreFlag], which adds --store and knows how to open
// what it names:
//
//	var store StoreFlag
//	cmd := &cobra.Command{
//		Use: "count", Short: "Count the threads", Example: `  posthouse count`,
//		RunE: func(cmd *cobra.Command, _ []string) error {
//			n, err := withStore(cmd.Context(), store.toRead, func(s posthouse.Store, _ datadir.Dir) (int, error) {
//				return threadsIn(cmd.Context(), s)
//			})
//			if err != nil {
//				return err
//			}
//			return e.Answer(n, func() { e.Line("%s", term.Count(n, "thread")) })
//		},
//	}
//	store.Add(e, cmd)
//
// toRead may be used beside a server and changes nothing; toChange needs the server stopped and
// never makes a store; toWrite makes one where it is missing.
//
// A new command is a function in a file of its own, and a line in package cli, which
// imports this one.
package stores
