package cmd

import (
	"cmp"
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// A firstPage is the beginning of a journal, in which agents register.
type firstPage struct {
	*record.Folder

	read bool
}

// Lines implements record.Source.
func (f *firstPage) Lines(ctx context.Context, from int) ([]string, error) {
	if f.read {
		return nil, nil
	}
	f.read = true
	return f.Folder.Lines(ctx, from)
}

// firstEvents is a league after the events at the beginning of its journal, as far as they can be read: enough for the
// names of its agents.
func firstEvents(ctx context.Context, dir store.Folder, leagueID string) *record.League {
	l := record.NewLeague()
	_ = l.Update(ctx, &firstPage{Folder: record.NewFolder(dir, leagueID)}, nil) // without names there are ids
	return l
}

// calledOf is a league for people: its name, with its id behind it if somebody chose that, or the id of a league without
// a name.
func calledOf(d *journal.Created) string {
	switch {
	case d.DisplayName == "":
		return d.LeagueID
	case d.LeagueID == defaultLeague || d.LeagueID == d.DisplayName:
		return d.DisplayName
	}
	return d.DisplayName + " (" + d.LeagueID + ")"
}

// leagueToComplete is the league about which a shell completes a command line: that of the flags --data and
// --league-id, or of the folder; nil for none.
func leagueToComplete(c *cobra.Command, folder string) *record.League {
	if f := c.Flag("data"); f != nil {
		folder = f.Value.String()
		if !f.Changed {
			folder = cmp.Or(os.Getenv("EVENODD_DATA"), folder)
		}
	}
	leagueID := ""
	if f := c.Flag("league-id"); f != nil {
		leagueID = f.Value.String()
	}
	quiet := streams{out: io.Discard, err: io.Discard}
	id, err := quiet.chooseLeague(store.In(folder), leagueID, false)
	if err != nil {
		return nil
	}
	return firstEvents(c.Context(), store.In(folder), id)
}

// named completes the agents of a role, or all of them for "", by their names and their ids, and further words.
func named(l *record.League, role, begun string, further ...string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	add := func(word, description string) {
		if n := len(begun); len(word) >= n && strings.EqualFold(word[:n], begun) {
			found = append(found, cobra.CompletionWithDesc(words.Escape(word), words.Escape(description)))
		}
	}
	if l != nil {
		refs := l.Refs()
		for _, pair := range [...]func(r league.Ref) (string, string){
			func(r league.Ref) (string, string) { return r.Name, r.ID },
			func(r league.Ref) (string, string) { return r.ID, r.Name },
		} {
			for _, r := range refs {
				if role == "" || r.Role == role {
					add(pair(r))
				}
			}
		}
	}
	for _, word := range further {
		add(word, "")
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// agentArgument completes the only argument of a command, an agent.
func agentArgument(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return named(leagueToComplete(c, ""), "", begun)
}

// matchArguments completes arguments in the form of matchUse.
func matchArguments(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	l := leagueToComplete(c, "")
	switch {
	case l == nil || len(args) > 2:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case len(args) == 2:
		var rounds []string
		for n := range l.KnownRounds() {
			rounds = append(rounds, strconv.Itoa(n+1))
		}
		return named(nil, "", begun, rounds...)
	}
	found, directive := named(l, protocol.RolePlayer, begun)
	if len(args) == 0 && strings.HasPrefix(strings.ToUpper(begun), "R") {
		for id := range l.Matches() {
			_, a, b, _ := l.Find(id)
			if strings.HasPrefix(id.String(), strings.ToUpper(begun)) {
				players := l.Ref(a).String() + " – " + l.Ref(b).String()
				found = append(found, cobra.CompletionWithDesc(id.String(), words.Escape(players)))
			}
		}
	}
	return found, directive
}

// completeAgent has a shell complete a flag with agents of a role, or all of them for "", and further words. The folder
// of a command without --data is its first argument.
func completeAgent(c *cobra.Command, flag, role string, further ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, args []string, begun string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		return named(leagueToComplete(c, strings.Join(args, "")), role, begun, further...)
	}) // an error: commands that share the flag have done it
}
