package main

import "github.com/spf13/cobra"

func (a *app) devCmd() *cobra.Command {
	s := serving{sample: true}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Serve, with a sample workflow to try: refunds that somebody must approve",
		Long: `Serve, with a sample workflow to try: refunds that somebody must approve.

The coordinator dispatch has an analyzer look at the request, then waits for a
decision, a minute or a month and any number of restarts, then has an approver
carry it out. No API key is needed. What the approver did is in effects.log in
the data directory, one line for each refund; where the store is encrypted
(--encrypt), a line has the key and the time alone.`,
		Example: `  posthouse dev
  posthouse dev --ephemeral --addr 127.0.0.1:0
  posthouse dev --data-dir ./data --store sqlite:./data/other.db`,
		Args: args(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	a.serveFlags(cmd, &s)
	return cmd
}
