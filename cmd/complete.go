package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
)

// completeFlags gives the flags of a command, and of all commands below it, their completions.
func completeFlags(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, own := c.GetFlagCompletionFunc(f.Name); own {
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, flagCompletion(f)); err != nil {
			panic(err) // the flag is one of the command
		}
	})
	for _, below := range c.Commands() {
		completeFlags(below)
	}
}

// flagCompletion returns the completion of a flag: of its values, or by the name that its help
// gives to the value. Only flags that name a file or a folder are completed with these.
func flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	switch value, _ := pflag.UnquoteUsage(f); {
	case f.Name == "league-id":
		return completeLeague
	case value == "agent", value == "player":
		return completeAgent
	case value == "folder":
		return completeFolder
	case value == "file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case f.Value.Type() == "bool":
		return cobra.NoFileCompletions
	}
	return func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before, directive := "", cobra.ShellCompDirectiveNoFileComp
		if f.Value.Type() == "stringSlice" {
			before = begun[:strings.LastIndex(begun, ",")+1] // the items of the list before the last
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		found := protocol.Each(flagValues(c.Name(), f.Name), func(value string) string { return before + value })
		return beginningWith(begun, found), directive
	}
}

// flagValues lists the values of a flag that has few of them.
func flagValues(command, flag string) []string {
	switch flag {
	case "format":
		return formatsOf(command)
	case "list":
		return listsOf(command)
	case "strategy":
		return append(strategy.Names(), external.Model, external.Asked, external.HostName)
	case "strategies":
		return append(strategy.Names(), external.Model, external.Asked)
	}
	return map[string][]string{
		"game":           games().Types(),
		"tournament":     journal.Formats(),
		"transport":      {simulation.Memory, simulation.Wire, simulation.HTTP},
		"log-level":      logLevels(),
		"fallback":       strategy.Names(),
		"verify-referee": {verifyAnnounced, verifyStrict},
		"level":          {"must", "should"},
		"role":           {protocol.RolePlayer, protocol.RoleReferee},
	}[flag]
}

// formatsOf lists the values of --format of a command.
func formatsOf(command string) []string {
	formats, special := map[string][]string{
		"simulate": {formatTable, formatJSON, formatCSV},
		"config":   {formatTable, formatJSON},
		"check":    {formatText, formatJSON, formatJUnit},
		"report":   {formatHTML, formatText, formatJSON, formatCSV, formatMarkdown},
		"export":   {formatJSON, formatCSV},
	}[command]
	if !special {
		return []string{formatText, formatJSON}
	}
	return formats
}

// listsOf lists the values of --list of a command.
func listsOf(command string) []string {
	return map[string][]string{
		"simulate": {"matches", "standings"},
		"report":   append(slices.Clone(reportLists), "opponents", "latency"),
		"export":   exportLists[:],
	}[command]
}

// completeFolder completes the argument or the value that is a folder.
func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeOneFolder completes the only argument of a command, a folder.
func completeOneFolder(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFolder(c, args, begun)
}

// completeLeague completes the id of a league in the data folder of the command line.
func completeLeague(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	leagues, _ := audit.Leagues(store.Folder(folderOf(c, args))) // no folder, no leagues
	return beginningWith(begun, leagues), cobra.ShellCompDirectiveNoFileComp
}

// completeMatch completes the id of a match with a file in the data folder of the command line.
func completeMatch(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	dir := store.Folder(folderOf(c, nil))
	league, err := chooseLeague(dir, c.Flag("league-id").Value.String())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return namesIn(dir.Matches(league), begun), cobra.ShellCompDirectiveNoFileComp
}

// completeAgent completes the id of an agent of a league in the data folder of the command line.
func completeAgent(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	o := organiser{streams{}, &organiserOptions{data: folderOf(c, args), leagueID: c.Flag("league-id").Value.String()}}
	return o.completeAgents(c, nil, begun)
}

// folderOf returns the data folder of a command: that of --data, else its argument.
func folderOf(c *cobra.Command, args []string) string {
	if f := c.Flag("data"); f != nil {
		return f.Value.String()
	}
	return strings.Join(args, "")
}

func beginningWith(begun string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, begun) })
}
