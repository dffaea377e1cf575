package league

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PerPlayer is a JSON object with one member per player, such as choices or
// score. It keeps the order of its members.
type PerPlayer[V any] []Member[V]

// Member is one member of a JSON object.
type Member[V any] struct {
	Name  string
	Value V
}

// Both returns the PerPlayer of a match's two players, side A first.
func Both[V any](idA string, a V, idB string, b V) PerPlayer[V] {
	return PerPlayer[V]{{idA, a}, {idB, b}}
}

// Get returns the value of a player, and whether there is one.
func (p PerPlayer[V]) Get(id string) (value V, ok bool) {
	for i := range p {
		if p[i].Name == id {
			return p[i].Value, true
		}
	}
	return value, false
}

// MarshalJSONTo writes the object.
func (p PerPlayer[V]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := range p {
		if err := enc.WriteToken(jsontext.String(p[i].Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, &p[i].Value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// UnmarshalJSONFrom reads the object. It sets p to nil for null.
func (p *PerPlayer[V]) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	*p, err = ReadMembers[V](dec, 2)
	return err
}

// ReadMembers reads an object of about n members, in their order. It returns nil for null.
func ReadMembers[V any](dec *jsontext.Decoder, n int) ([]Member[V], error) {
	if dec.PeekKind() == 'n' {
		return nil, dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if token.Kind() != '{' {
		return nil, &json.SemanticError{JSONKind: token.Kind()}
	}
	members := make([]Member[V], 0, n)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return members, err
		}
		members = append(members, Member[V]{Name: name.String()})
		last := len(members) - 1
		if err := json.UnmarshalDecode(dec, &members[last].Value); err != nil {
			return members[:last], err
		}
	}
	_, err = dec.ReadToken()
	return members, err
}
