package leaguetest

import "slices"

// The runs of a league that fails decide whether it fails again.
const (
	runsOfOne  = 5   // at most, of one league
	failsOfOne = 3   // of them, so that a league counts as failing
	mostRuns   = 600 // of all leagues that Shrink tries
)

// Shrink looks for a smaller league that fails as well. Smaller returns leagues that are smaller than one, the
// smallest first; fails plays one. A league that fails in 3 of 5 runs replaces the larger one, until none of the
// smaller ones fails or 600 runs were made. Repeats is false if the league itself fails less often: then it is
// returned as it is.
func Shrink[L any](league L, smaller func(L) []L, fails func(L) bool) (smallest L, repeats bool) {
	runs := 0
	often := func(l L) bool {
		failed := 0
		for run := range runsOfOne {
			if runs++; fails(l) {
				failed++
			}
			if passed := run + 1 - failed; failed == failsOfOne || passed > runsOfOne-failsOfOne {
				break
			}
		}
		return failed == failsOfOne
	}
	if !often(league) {
		return league, false
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for _, l := range smaller(league) {
			if runs >= mostRuns {
				return league, true
			}
			if often(l) {
				league, shrunk = l, true
				break
			}
		}
	}
	return league, true
}

// Fewer returns the numbers below n to try instead of n, the smallest first: least, half, and one less.
func Fewer(n, least int) []int {
	numbers := slices.DeleteFunc([]int{least, n / 2, n - 1},
		func(smaller int) bool { return smaller < least || smaller >= n })
	return slices.Compact(numbers)
}

// Without returns the parts of a list to try instead of it, the shortest first: none, each half, and each list
// without one element.
func Without[E any](list []E) (parts [][]E) {
	n := len(list)
	if n == 0 {
		return nil
	}
	parts = append(parts, nil)
	if n > 2 {
		parts = append(parts, slices.Clone(list[:n/2]), slices.Clone(list[n/2:]))
	}
	for i := range list {
		if n > 1 {
			parts = append(parts, slices.Delete(slices.Clone(list), i, i+1))
		}
	}
	return parts
}
