package protocol

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PerPlayer is a JSON object with one member per player, such as choices or
// score. It keeps the order it was written in.
type PerPlayer[V any] []ForPlayer[V]

// ForPlayer is one member of a PerPlayer.
type ForPlayer[V any] struct {
	ID    string
	Value V
}

// Both makes the PerPlayer of a match's two players, seat A first.
func Both[V any](idA string, a V, idB string, b V) PerPlayer[V] {
	return PerPlayer[V]{{idA, a}, {idB, b}}
}

// Get is the value for a player, and whether there is one.
func (p PerPlayer[V]) Get(id string) (V, bool) {
	for i := range p {
		if p[i].ID == id {
			return p[i].Value, true
		}
	}
	var none V
	return none, false
}

// MarshalJSONTo writes the object.
func (p PerPlayer[V]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := range p {
		if err := enc.WriteToken(jsontext.String(p[i].ID)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, p[i].Value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// UnmarshalJSONFrom reads the object; null leaves it nil.
func (p *PerPlayer[V]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*p = nil
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '{' {
		return &json.SemanticError{JSONKind: token.Kind()}
	}
	*p = make(PerPlayer[V], 0, 2)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		one := ForPlayer[V]{ID: name.String()}
		if err := json.UnmarshalDecode(dec, &one.Value); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	_, err = dec.ReadToken()
	return err
}
