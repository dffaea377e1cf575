package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"evenodd/league/protocol"
)

// UnknownVariables returns the variables of an environment that have the prefix but are no
// setting of any command and none of others, each with the closest name. environ has the form of
// os.Environ. Those that begin with EVENODD_TEST_ are for tests.
func UnknownVariables(environ []string, commands map[string]*pflag.FlagSet, others ...string) []string {
	known := slices.Concat(others, []string{variable("config")})
	for _, name := range settingNames(commands) {
		known = append(known, variable(strings.Split(name, ".")...))
	}
	var unknown []string
	for _, one := range environ {
		name, _, _ := strings.Cut(one, "=")
		if strings.HasPrefix(name, Prefix+"_") && !strings.HasPrefix(name, Prefix+"_TEST_") && !slices.Contains(known, name) {
			unknown = append(unknown, name+protocol.DidYouMean(name, known))
		}
	}
	slices.Sort(unknown)
	return unknown
}

// WrongValue says which values a flag takes, after one that it does not take. Other errors stay
// as they are.
func WrongValue(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	rule := map[string]string{
		"int":      "must be a whole number",
		"uint64":   "must be a whole number from 0 to 18446744073709551615",
		"duration": "must be a duration with a unit, such as 300ms, 30s or 5m",
		"bool":     "must be true or false",
	}[wrong.GetFlag().Value.Type()]
	switch {
	case rule == "":
		rule = wrong.Unwrap().Error()
	case wrong.GetFlag().Value.Type() == "int" && errors.Is(err, strconv.ErrRange):
		rule = "too large: " + wrong.GetFlag().Usage // which says the largest number
	}
	return fmt.Errorf("%q: %s", wrong.GetValue(), rule)
}
