package protocol

// Each returns what convert makes of each element of a list; nil for an empty list.
func Each[E, R any](list []E, convert func(E) R) []R {
	if len(list) == 0 {
		return nil
	}
	converted := make([]R, len(list))
	for i := range list {
		converted[i] = convert(list[i])
	}
	return converted
}

// Select returns the elements of a list for which keep is true; nil for none.
func Select[E any](list []E, keep func(E) bool) (selected []E) {
	for i := range list {
		if keep(list[i]) {
			selected = append(selected, list[i])
		}
	}
	return selected
}

// NonZero returns a pointer to a value; nil for the zero value.
func NonZero[V comparable](value V) *V {
	if value == *new(V) {
		return nil
	}
	return &value
}
