package cli

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/sign"
)

func (a *app) keyCmd() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "key",
		Short: "List and rotate signing keys",
		Example: `  posthouse key list
  posthouse key rotate`,
	}, a.keyList(), a.keyRotate())
}

type keyInfo struct {
	ID        string `json:"id"`
	NotBefore string `json:"notBefore,omitempty"`
	NotAfter  string `json:"notAfter,omitempty"`
}

func (a *app) keyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the public keys that signatures are checked against",
		Example: `  posthouse key list`,
		RunE: func(*cobra.Command, []string) error {
			dir, err := a.dir()
			if err != nil {
				return err
			}
			ring, err := sign.LoadRing(dir.Key() + sign.PublicSuffix)
			if err != nil {
				return err
			}
			all, rows := []keyInfo{}, [][]string{}
			for _, k := range ring.Keys() {
				i := keyInfo{k.ID, tree.Time(k.NotBefore), tree.Time(k.NotAfter)}
				all, rows = append(all, i), append(rows, []string{i.ID, i.NotBefore, i.NotAfter})
			}
			return a.answer(all, func() { a.Table([]string{"KEY", "FROM", "RETIRED"}, rows) })
		},
	}
}

func (a *app) keyRotate() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the signing key; what the old one signed stays verifiable",
		Long: `Replace the signing key.

The new public key joins the ring in signing.key.pub, the old one is retired
there and its private half is gone. A running server goes on with the old key
until it is restarted, for at most 24 hours.`,
		Example: `  posthouse key rotate --yes`,
		RunE: func(*cobra.Command, []string) error {
			dir, err := a.dir()
			if err != nil {
				return err
			}
			if ok, err := a.Confirm(yes, "replace the signing key in %s?", dir.Key()); err != nil || !ok {
				return err
			}
			key, err := sign.Rotate(dir.Key(), nil)
			if err != nil {
				return err
			}
			return a.answer(keyInfo{ID: key.KeyID(), NotBefore: tree.Time(key.Public().NotBefore)}, func() { a.Line("signing with %s once the server is restarted", key.KeyID()) })
		},
	}
	yesFlag(cmd, &yes)
	return cmd
}
