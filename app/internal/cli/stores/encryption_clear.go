package stores

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
)

func encryptionClear(e *env.Env) *cobra.Command {
	var yes bool
	var store StoreFlag
	var d posthouse.ClearDecision
	cmd := &cobra.Command{
		Use: "clear", Short: "Put on record that an encrypted store may be written in the clear",
		Long: `Put on record that an encrypted store may be written in the clear.

A store that was ever encrypted is not written without keys, since they are more
likely to be missing than given up. This is the way to give them up: who decided it,
when and why stays in the store. What is encrypted stays so, and cannot be read or
gone on with without its keys. The key file must be gone from the data directory,
or the next start takes it and encrypts again. The server must be stopped.`,
		Example: `  posthouse encryption clear --by alice --reason "test data only" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ok, err := e.Confirm(yes, "write to this store in the clear from now on?"); err != nil || !ok {
				return err
			}
			mark, err := withLedger(cmd.Context(), store.toChange, nil, func(led *ledger.Ledger) (*posthouse.Encryption, error) {
				return crypt.WriteInClear(cmd.Context(), led, d)
			})
			if err != nil {
				return err
			}
			return e.Answer(mark, func() {
				if n := len(mark.Decisions); n > 0 {
					last := mark.Decisions[n-1]
					e.Line("on record since %s, by %s: the store may be written in the clear", tree.Time(last.At), last.By)
				} else {
					e.Line("the store is not encrypted: there is nothing to decide")
				}
			})
		},
	}
	env.YesFlag(cmd, &yes)
	cmd.Flags().StringVar(&d.By, "by", "", "who decides")
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why")
	store.Add(e, cmd)
	return cmd
}
