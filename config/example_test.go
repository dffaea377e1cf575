package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"evenodd/config"
)

// A settings file gives values to flags that are not on the command line.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "settings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "evenodd.yaml")
	if err := os.WriteFile(file, []byte("player:\n  strategy: contrarian\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	flags := pflag.NewFlagSet("player", pflag.ContinueOnError)
	flags.String("name", "Ann", "")
	strategy := flags.String("strategy", "random", "")
	commands := func() map[string]*pflag.FlagSet { return map[string]*pflag.FlagSet{"player": flags} }
	settings, err := config.Load(file, commands)
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := settings.Apply("player", flags)
	fmt.Println(*strategy, err)
	for _, s := range list {
		fmt.Println(s.Name, s.Value, filepath.Base(s.Source))
	}
	// Output:
	// contrarian <nil>
	// name Ann default
	// strategy contrarian evenodd.yaml
}
