package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/cmd/starter"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store/disk"
	"evenodd/league/words"
)

// newNew makes 'evenodd new', the commands that write source code to start from.
func newNew(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "new",
		Short: "Write the source code of a new agent or game",
		Long: `Write a small complete project to start from: an agent, or a game for evenodd itself. Or write the Python
module with which scripts and notebooks play leagues.`,
		Example: examples(
			"Write a player in Python", "evenodd new player --lang python my-agent",
			"Write the module for leagues of Python functions", "evenodd new python-module",
			"Write a game", "evenodd new game pick_stones",
		),
	}
	c.AddCommand(
		newAgent(s, protocol.RolePlayer, 8101, "Its strategy is the function choose: change it."),
		newAgent(s, protocol.RoleReferee, 8001, "It conducts matches of "+defaultGame+"."),
		newModule(s), newGame(s))
	return c
}

// newModule makes 'evenodd new python-module'.
func newModule(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "python-module [DIR]",
		Short: "Write the Python module for leagues of functions",
		Long: `Write the module evenodd.py into the folder DIR, by default the current one. With it a script or a notebook
plays leagues of Python functions, and gets the results as lists of dicts (docs/games.md). It needs Python 3.8 and
this program.`,
		Example: examples("Write evenodd.py into the current folder", "evenodd new python-module"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			at := filepath.Join(append(args, starter.ModuleName)...)
			file, err := disk.Real{}.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return exit(exitFailed, "%s exists already: remove it for the one of this version", at)
			}
			if err == nil {
				_, err = file.Write(starter.Module())
				err = errors.Join(err, file.Close())
			}
			if err != nil {
				return fmt.Errorf("cannot write the module: %w", err)
			}
			s.note("Use it:  import evenodd; print(evenodd.league(players=[lambda q: q[\"valid_options\"][0], \"random\"]))")
			return printLine(s.out, "created %s", at)
		},
	}
}

// newAgent makes 'evenodd new player' and 'evenodd new referee'.
func newAgent(s streams, role string, port int, about string) *cobra.Command {
	var language string
	p := starter.Project{Role: role}
	c := &cobra.Command{
		Use:   role + " --lang LANGUAGE DIR",
		Short: "Write the source code of a new " + role,
		Long: fmt.Sprintf(`Write a %s in Python, JavaScript or Go into the folder DIR, with a test, a Dockerfile and a
README. It uses only the standard library of its language, meets all requirements of 'evenodd check' and joins a league
at once. %s`, role, about),
		Example: examples(
			"Write a "+role+" in Python into the folder my-agent", "evenodd new "+role+" --lang python my-agent",
			"Set its name and its port", "evenodd new "+role+" --lang go --name 'Agent Alpha' --port "+strconv.Itoa(port+1)+" "+
				"alpha",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if language == "" {
				return usage("set --lang to the language: %s", words.Or(languages()))
			}
			all := starter.Languages()
			p.Language = all[slices.IndexFunc(all, func(l starter.Language) bool { return l.Name == language })]
			return writeAgent(s, &p, args[0])
		},
	}
	f := c.Flags()
	choiceFlag(f, &language, "lang", "", "language", languages()...)
	f.StringVar(&p.Name, "name", "", "display name, unique in the league (default: the name of the folder)")
	f.IntVar(&p.Port, "port", port, "port at which it listens")
	return c
}

// languages returns the names of all languages.
func languages() []string {
	return lists.Map(starter.Languages(), func(l starter.Language) string { return l.Name })
}

// writeAgent writes the project, and says how to go on.
func writeAgent(s streams, p *starter.Project, dir string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	p.Name = cmp.Or(p.Name, filepath.Base(at))
	switch {
	case !protocol.ValidName(p.Name):
		return usage("--name %q: a display name has 1 to 50 characters, and no control characters", p.Name)
	case p.Port < 1 || p.Port > 65535:
		return usage("--port %d: must be 1 to 65535", p.Port)
	}
	names, err := p.Write(dir)
	if errors.Is(err, starter.ErrNotEmpty) {
		return exit(exitFailed, "%w: choose another one, or empty it", err)
	}
	if err != nil {
		return fmt.Errorf("cannot write the %s: %w", p.Role, err)
	}
	for _, name := range names {
		if err := printLine(s.out, "created %s", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	start, test := p.Start(), p.Language.Test
	if runtime.GOOS == "windows" { // its Python has another name
		start, test = strings.Replace(start, "python3", "py", 1), strings.Replace(test, "python3", "py", 1)
	}
	steps := []string{"Test it, and start it:", "  cd " + dir, "  " + test, "  " + start,
		"Examine it, from another terminal:", fmt.Sprintf("  evenodd check %s localhost:%d", p.Role, p.Port)}
	if p.Role == protocol.RolePlayer {
		steps = append(steps, "Let it play against players of evenodd (an agent ends with its league: start it again first):",
			fmt.Sprintf("  evenodd simulate --player localhost:%d --players 4", p.Port))
	}
	var text printout
	for _, line := range steps {
		text.line("%s", line)
	}
	return text.print(s.err)
}
