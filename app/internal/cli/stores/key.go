package stores

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/sign"
)

// Key returns the command key, with those below it.
func Key(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "key",
		Short: "List and rotate signing keys",
		Example: `  posthouse key list
  posthouse key rotate`,
	}, keyList(e), keyRotate(e))
}

type keyInfo struct {
	ID        string `json:"id"`
	NotBefore string `json:"notBefore,omitempty"`
	NotAfter  string `json:"notAfter,omitempty"`
}

func keyList(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the public keys that signatures are checked against",
		Example: `  posthouse key list`,
		RunE: func(*cobra.Command, []string) error {
			dir, err := e.Dir()
			if err != nil {
				return err
			}
			ring, err := sign.LoadRing(dir.Key() + sign.PublicSuffix)
			if err != nil {
				return err
			}
			all := []keyInfo{}
			for _, k := range ring.Keys() {
				all = append(all, keyInfo{k.ID, tree.Time(k.NotBefore), tree.Time(k.NotAfter)})
			}
			return keyTable.Print(e, all, false)
		},
	}
	e.QuietFlag(cmd)
	return cmd
}

var keyTable = env.Table[keyInfo]{
	None: "no keys",
	Head: []string{"KEY", "FROM", "RETIRED"},
	Row:  func(k keyInfo) []string { return []string{k.ID, k.NotBefore, k.NotAfter} },
}

func keyRotate(e *env.Env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the signing key; what the old one signed stays verifiable",
		Long: `Replace the signing key.

The new public key joins the ring in signing.key.pub, the old one is retired
there and its private half is gone. A running server goes on with the old key
until it is restarted, for at most 24 hours.`,
		Example: `  posthouse key rotate --yes`,
		RunE: func(*cobra.Command, []string) error {
			dir, err := e.Dir()
			if err != nil {
				return err
			}
			if ok, err := e.Confirm(yes, "replace the signing key in %s?", dir.Key()); err != nil || !ok {
				return err
			}
			key, err := sign.Rotate(dir.Key(), nil)
			if err != nil {
				return err
			}
			return e.Answer(keyInfo{ID: key.KeyID(), NotBefore: tree.Time(key.Public().NotBefore)}, func() { e.Line("signing with %s once the server is restarted", key.KeyID()) })
		},
	}
	env.YesFlag(cmd, &yes)
	return cmd
}
