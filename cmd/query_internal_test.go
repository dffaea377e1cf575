package cmd

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEachSubjectOfAQueryHasARow(t *testing.T) {
	assert.ElementsMatch(t, subjectNames[:], slices.Collect(maps.Keys(subjects())))
}
