// Package env is what the commands of the command line have in common: an [Env] says
// where answers go, which server and data directory are meant, and with which token.
//
// A command is a function of it:
//
//	func Effects(e *env.Env) *cobra.Command {
//		var limit int
//		cmd := &cobra.Command{
//			Use: "effects THREAD", Short: "List what acted on the world", Example: `  posthouse effects order-1234`,
//			RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
//				_, err := env.List(ctx, e, c, client.ThreadPath(args[0], "effects"), nil, limit, &effectTable)
//				return err
//			}),
//		}
//		e.LimitFlag(cmd, &limit)
//		return cmd
//	}
//
// The arguments that Use names are checked and completed without more code, and [Env.Online]
// turns part of an id into the id where Use has THREAD, CHECKPOINT, GATE or TASK. Each flag can
// be set by a variable, and --json is answered by [Env.Answer], [Ask], [Get] and [List]. Errors are
// *posthouse.Error with a hint that says what to type next; [Exit] ends a command with a
// code and no word.
package env
