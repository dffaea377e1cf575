package protocol

import "bytes"

// whole is the part of the fast check that needs the encoding. A decoded value
// does not tell whether a member was absent, null or empty: points of 0 look
// like none, and a winner of null like none. It wants every required member to
// be there and not null, and no optional one to be there and empty.
//
// Raw has been decoded into the message's type, and so is valid. Where it
// cannot tell cheaply, whole says false.
func whole(raw []byte, fields []field) bool {
	s := scanner{raw: raw}
	s.space()
	return s.object(fields)
}

// A scanner steps through valid JSON, without copying any of it.
type scanner struct {
	raw []byte
	at  int
}

func (s *scanner) space() {
	for {
		switch s.raw[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// next steps to the next member or element, over a comma, or past the closing
// bracket, and says which.
func (s *scanner) next(closing byte) bool {
	s.space()
	if s.raw[s.at] == ',' {
		s.at++
		s.space()
	}
	if s.raw[s.at] == closing {
		s.at++
		return false
	}
	return true
}

// text steps over a string and returns what stands between the quotes; plain
// when nothing in it is escaped.
func (s *scanner) text() (content []byte, plain bool) {
	s.at++
	start := s.at
	if n := bytes.IndexByte(s.raw[start:], '"'); bytes.IndexByte(s.raw[start:start+n], '\\') < 0 {
		s.at += n + 1
		return s.raw[start : start+n], true
	}
	for {
		switch s.raw[s.at] {
		case '"':
			content = s.raw[start:s.at]
			s.at++
			return content, false
		case '\\':
			s.at++
		}
		s.at++
	}
}

// name steps over a member's name and its colon.
func (s *scanner) name() (name []byte, plain bool) {
	name, plain = s.text()
	s.space()
	s.at++
	s.space()
	return name, plain
}

// skip steps over a value.
func (s *scanner) skip() {
	depth := 0
	for {
		switch s.raw[s.at] {
		case '"':
			s.text()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
		default: // a number or a literal
			if n := bytes.IndexAny(s.raw[s.at:], " \t\r\n,:]}"); n > 0 {
				s.at += n
			} else {
				s.at = len(s.raw)
			}
		}
		if depth == 0 {
			return
		}
	}
}

func (s *scanner) object(fields []field) bool {
	s.at++
	missing := 0
	for i := range fields {
		if !fields[i].optional {
			missing++
		}
	}
	for s.next('}') {
		name, plain := s.name()
		if !plain {
			return false
		}
		f := find(fields, name)
		switch {
		case f == nil:
			s.skip()
		case !s.value(f):
			return false
		case !f.optional:
			missing--
		}
	}
	return missing == 0
}

func find(fields []field, name []byte) *field {
	for i := range fields {
		if fields[i].name == string(name) {
			return &fields[i]
		}
	}
	return nil
}

func (s *scanner) value(f *field) bool {
	c := s.raw[s.at]
	switch {
	case c == 'n':
		s.skip()
		return f.null || f.optional
	case f.kind == kindString && c == '"':
		content, _ := s.text()
		return len(content) > 0 || f.min == 0 && f.values == nil && f.form == nil
	case f.kind == kindInteger:
		s.skip()
		return f.min == 0 || c != '0' && c != '-'
	case f.kind == kindObject && f.items != nil && c == '{':
		s.at++
		for s.next('}') {
			s.name()
			if !s.value(f.items) {
				return false
			}
		}
		return true
	case f.kind == kindObject && f.fields != nil && c == '{':
		return s.object(f.fields)
	case f.kind == kindArray && c == '[':
		s.at++
		for s.next(']') {
			if !s.value(f.items) {
				return false
			}
		}
		return true
	}
	s.skip()
	return true
}
