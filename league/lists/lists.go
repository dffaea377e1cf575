// Package lists has what the standard library's package slices lacks: a list made of another one. It imports nothing
// of the module.
package lists

// Map returns what convert makes of each element of a list; nil for an empty list.
func Map[E, R any](list []E, convert func(E) R) []R {
	if len(list) == 0 {
		return nil
	}
	converted := make([]R, len(list))
	for i := range list {
		converted[i] = convert(list[i])
	}
	return converted
}

// Filter returns the elements of a list for which keep is true; nil for none.
func Filter[E any](list []E, keep func(E) bool) (kept []E) {
	for i := range list {
		if keep(list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}
