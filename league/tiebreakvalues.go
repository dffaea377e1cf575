package league

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TiebreakValues are numbers by the names of tie-breaks, such as head_to_head.
type TiebreakValues map[string]float64

// MarshalJSONTo writes the members in order of their names, so that a message always has the
// same bytes.
func (v TiebreakValues) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, map[string]float64(v), json.Deterministic(true))
}

// UnmarshalJSONFrom reads an object or null. It ignores members that are no numbers.
func (v *TiebreakValues) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var members PerPlayer[jsontext.Value]
	if err := json.UnmarshalDecode(dec, &members); err != nil {
		return err
	}
	*v = nil
	for _, m := range members {
		var number float64
		if m.Value.Kind() == '0' && json.Unmarshal(m.Value, &number) == nil {
			if *v == nil {
				*v = TiebreakValues{}
			}
			(*v)[m.Name] = number
		}
	}
	return nil
}
