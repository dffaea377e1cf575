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

// NonZero returns a pointer to a value; nil for the zero value.
func NonZero[V comparable](value V) *V {
	if value == *new(V) {
		return nil
	}
	return &value
}
