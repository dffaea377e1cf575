package cmd

import (
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/program"
)

// A strategyList is a flag with strategies, some of which are command lines with commas.
type strategyList struct {
	list  *[]string
	given bool // the list is no longer the default
}

var _ pflag.SliceValue = (*strategyList)(nil)

// Set implements pflag.Value. A flag that is given again adds to the list.
func (l *strategyList) Set(text string) error {
	var items []string
	if text != "" {
		var err error
		if items, err = program.Split(text); err != nil {
			return err
		}
	}
	if !l.given {
		*l.list = nil
	}
	l.given = true
	*l.list = append(*l.list, items...)
	return nil
}

// String implements pflag.Value.
func (l *strategyList) String() string { return "[" + config.JoinList(*l.list) + "]" }

// Type implements pflag.Value.
func (l *strategyList) Type() string { return "stringSlice" }

// Append implements pflag.SliceValue.
func (l *strategyList) Append(one string) error { *l.list = append(*l.list, one); return nil }

// Replace implements pflag.SliceValue.
func (l *strategyList) Replace(list []string) error { *l.list = list; return nil }

// GetSlice implements pflag.SliceValue.
func (l *strategyList) GetSlice() []string { return *l.list }
